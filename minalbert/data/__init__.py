"""Everything between raw text and a batch.

    text        documents, sentences                     files become lists of sentences, one document at a time
    stories     tiny_worlds                              generated text, with one knob for topic and one for order
    tokens      normalise, tokenizer                     sentences become numbers
    shards      shards, build                            numbers in files, which are verified when they are opened
    split       held_out                                 which documents are kept from training
    instances   recipe, chunks, pairs, masking,          which sentences, in which order, and which words are masked:
                instances                                a pure function of (seed, epoch, instance number)
    inspection  strip, stats, audit                      one instance, statistics of many, and a search for leaks

Read in this order. `released` is the released script's algorithm, one instance at a time, to compare with.
"""

from ..lazy import public

__getattr__, __dir__, __all__ = public(__name__, {
    "Corpus": "shards",
    "Instances": "instances",
    "Recipe": "recipe",
    "SCHEMAS": "tiny_worlds",
    "SentencePieceTokenizer": "sentencepiece_tokenizer",
    "TinyWorlds": "tiny_worlds",
    "WordTokenizer": "word_tokenizer",
    "audit_instances": "audit_pairs",
    "batches": "order",
    "build_corpus": "build:build",
    "corpus_stats": "stats",
    "instance_stats": "stats",
    "load_tokenizer": "tokenizers",
    "micro_batches": "order",
    "pairs_and_labels": "audit_pairs",
    "story_sources": "sources",
    "strip_of_instance": "strip:strip",
    "text_sources": "sources",
    "train_sentencepiece": "sentencepiece_training:train",
})  # fmt: skip
