"""Text becomes numbers. What every tokenizer has, and where a file's tokenizer comes from.

The first five ids are those of the released models. [CLS], [SEP] and [MASK] are put in by number alone: typed
in a text, they are letters and brackets like others.
"""

from pathlib import Path

import numpy as np

from ..errors import DataError, FileError
from ..files import write_atomically

PAD, UNK, CLS, SEP, MASK = range(5)
SPECIALS = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")


class Tokenizer:
    vocab_size: int
    pieces: list[str]
    word_starts: np.ndarray                          # (V,) bool: does the piece begin a word, for whole-word masking
    digest: str                                      # SHA-256 of all that decides which ids a text becomes

    def encode(self, text):
        """A list of ids, without [CLS] and [SEP]."""
        return self.encode_many([text])[0]

    def encode_many(self, texts):
        raise NotImplementedError

    def decode(self, ids):
        """The text of ids, as the tokenizer sees it. Control symbols leave no trace."""
        raise NotImplementedError

    def save(self, path):
        raise NotImplementedError

    def check_ids(self, ids):
        ids = [int(i) for i in ids]
        for i in ids:
            if not 0 <= i < self.vocab_size:
                raise DataError(f"id {i} is no piece's; it must lie in 0..{self.vocab_size - 1} (the vocabulary)")
        return ids


def load_tokenizer(path):
    """A sentencepiece model, released or ours, or our word list, which ends in .json."""
    from .sentencepiece_tokenizer import SentencePieceTokenizer
    from .word_tokenizer import WordTokenizer

    kind = WordTokenizer if Path(path).suffix == ".json" else SentencePieceTokenizer
    return kind.load(path)


def read_bytes(path):
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def write_bytes(path, content):
    """The whole file or none of it, in a folder that is made where it is not there."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{Path(path).parent} cannot be made: {error.strerror}") from error
    write_atomically(path, content)
