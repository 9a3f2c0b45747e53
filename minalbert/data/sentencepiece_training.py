"""Training a vocabulary as ALBERT's was, so that the same text gives the same file.

The file depends on two things besides the text: on the number of threads, because they add in another order, and on the
sample, if the text has more sentences than are wanted. sentencepiece (0.2.3) takes another sample in each process,
whatever its seed is. So the sample is taken here, and sentencepiece gets nothing else.

In two things it is not ALBERT's: no piece is learnt that joins a digit and a comma, if `digit_commas` is "intended".
That rule takes every such piece apart, so that its id would never occur. And scores are rounded; `sentencepiece_scores`
says why.
"""

import io
import random
import re
from collections.abc import Iterable

from ..arguments import of_kind, refusal, text, whole
from ..errors import DataError
from .normalise import Normaliser
from .sentencepiece_scores import with_round_scores
from .sentencepiece_tokenizer import SentencePieceTokenizer, sentencepiece

SAMPLE = 10_000_000                                  # sentences; sentencepiece needs 20 bytes for each byte of them
SETTINGS = {
    "model_type": "unigram",
    "character_coverage": 0.99995,
    "pad_id": 0,
    "unk_id": 1,
    "bos_id": -1,
    "eos_id": -1,
    "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
    "user_defined_symbols": ["(", ")", '"', "-", ".", "–", "£", "€"],
    "shuffle_input_sentence": True,
}
LONGEST = 4192                                       # bytes; sentencepiece leaves out what is longer
MOST_PIECES = 2**24                                  # the largest vocabularies have some 250,000
FEWEST = 14                                          # the special pieces, the signs above, and ▁
CUT = "\uf8ff"                                       # a private character: no piece is learnt across it
DIGIT_COMMA = re.compile(r"(?<=\d)(?=,)")


def train(sentences, vocab_size, threads=1, sample=SAMPLE, seed=0, normaliser=Normaliser(), digit_commas="intended"):
    """A SentencePieceTokenizer trained on an iterable of sentences."""
    for name, value, least, most in (("vocab_size", vocab_size, FEWEST, MOST_PIECES), ("threads", threads, 1, 1024),
                                     ("sample", sample, 1, 2**63 - 1), ("seed", seed, 0, 2**63)):
        whole(name, value, least, most, DataError)
    of_kind("normaliser", normaliser, Normaliser, DataError)
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        raise refusal("sentences", sentences, "a list of texts", DataError)
    sentences = (text("sentence", sentence, DataError) for sentence in sentences)
    library, model = sentencepiece(), io.BytesIO()
    chosen, seen = take_sample(map(normaliser, sentences), sample, seed)
    settings = {**SETTINGS, "vocab_size": vocab_size, "num_threads": threads, "input_sentence_size": sample}
    if digit_commas == "intended":
        chosen = [DIGIT_COMMA.sub(CUT, sentence) for sentence in chosen]
        settings["pretokenization_delimiter"] = CUT
    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(chosen), model_writer=model, minloglevel=2, **settings
        )
    except RuntimeError as error:
        raise DataError(_explain(str(error), vocab_size)) from error
    recipe = {
        **settings,
        "seed": seed,
        "sentences": seen,
        "sampled": len(chosen),
        "left_out_as_too_long": sum(len(sentence.encode()) > LONGEST for sentence in chosen),
        "sentencepiece": library.__version__,
    }
    return SentencePieceTokenizer(with_round_scores(model.getvalue()), normaliser, digit_commas, recipe)


def take_sample(sentences, sample, seed):
    """A uniform sample of the sentences, and the number of all. Only the sample is in memory."""
    uniform, chosen, seen = random.Random(seed).random, [], 0
    for sentence in filter(None, sentences):
        seen += 1
        if len(chosen) < sample:
            chosen.append(sentence)
        elif (place := int(uniform() * seen)) < sample:
            chosen[place] = sentence
    return chosen, seen


def _explain(message, vocab_size):
    if most := re.search(r"set it to a value <= (\d+)", message):
        return f"vocab_size is {vocab_size}; this text gives {most[1]} pieces at most"
    if fewest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return f"vocab_size is {vocab_size}; the characters of this text alone need {fewest[1]} pieces"
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return f"there is no text to train on: no sentence of 1 to {LONGEST} bytes"
    return f"sentencepiece could not train: {' '.join(message.split())}"
