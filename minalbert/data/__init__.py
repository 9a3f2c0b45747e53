"""Everything between raw text and a batch.

    text        documents, sentences                     files become lists of sentences, one document at a time
    stories     tiny_worlds                              generated text, with one knob for topic and one for order
    tokens      normalise, tokenizer                     sentences become numbers
    shards      shards, build                            numbers in files that can be mapped into memory
    instances   recipe, chunks, pairs, masking,          which sentences, in which order, and which words are masked:
                instances                                a pure function of (seed, epoch, instance number)
    inspection  strip, stats, audit                      one instance, statistics of many, and a search for leaks

Read in this order. `released` is the released script's algorithm, one instance at a time, to compare with.
"""
