"""Texts that people type, in the form of those that a model was trained on."""

from ..data.word_tokenizer import WordTokenizer
from ..errors import InputError
from ..train.filling import as_words


def as_trained(tokenizer, texts):
    """(the texts, sentences about what was done to them). A word tokenizer knows words in lower case, signs apart."""
    notes = []
    for text in texts:
        if not text.strip():
            raise InputError(f"the text is {text[:40]!r}; it must have a word")
    if isinstance(tokenizer, WordTokenizer):
        texts = [as_words(tokenizer, text, notes) for text in texts]
    return [*texts], [*dict.fromkeys(notes)]
