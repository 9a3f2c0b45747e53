"""Text becomes numbers: the interface of every tokenizer. `tokenizers.load_tokenizer` reads one from a file.

The first five ids are those of the released models. [CLS], [SEP] and [MASK] are inserted as ids only: in a text,
they are letters and brackets like any others.
"""

from collections.abc import Iterable

import numpy as np

from .. import arguments
from ..errors import DataError, FileError
from ..files import write_atomically

PAD, UNK, CLS, SEP, MASK = range(5)
SPECIALS = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")


class Tokenizer:
    """Text to ids and back. `file_name` is the name under which a corpus or a run keeps a copy."""

    file_name: str
    vocab_size: int
    pieces: list[str]
    word_starts: np.ndarray                          # (V,) bool: does the piece begin a word, for whole-word masking
    digest: str                                      # SHA-256 of everything that decides which ids a text becomes

    def encode(self, text):
        """Return a list of ids, without [CLS] and [SEP]."""
        return self.encode_many([text])[0]

    def encode_many(self, texts):
        raise NotImplementedError

    def encode_with_places(self, text):
        """Return (ids, places): for each id the characters of the text that it stands for, as (first, past the last).

        White space is in no place. A character that is dropped, such as an accent, is in the place of the one before
        it. A character that becomes several tokens is in the place of each, and a token for none has an empty place.
        """
        raise NotImplementedError

    def decode(self, ids):
        """Return the text of ids, as the tokenizer sees it. Control symbols are left out."""
        raise NotImplementedError

    def save(self, path):
        raise NotImplementedError

    def files(self):
        """{name: bytes} for a model's directory: our own, and those with which AutoTokenizer gives the same ids."""
        raise NotImplementedError

    def check_ids(self, ids):
        ids = list(arguments.of_kind("ids", ids, Iterable, DataError))
        for i in ids:
            if not arguments.is_whole(i):
                raise arguments.refusal("an id", i, "a whole number", DataError)
            if not 0 <= i < self.vocab_size:
                raise DataError(f"id {i} is not in the vocabulary; it must lie in 0..{self.vocab_size - 1}")
        return ids

    def check_texts(self, texts):
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise arguments.refusal("texts", texts, "a list of texts", DataError)
        return [arguments.text("text", text, DataError) for text in texts]


def check_belongs(tokenizer, digest, name="the tokenizer"):
    """Raise DataError unless it is the tokenizer with this digest, which a model was trained with; None: not known."""
    if digest is not None and tokenizer.digest != digest:
        raise DataError(f"{name} has the digest {tokenizer.digest[:12]}, but the model was trained with that of "
                        f"{digest[:12]}, whose ids mean other words; use that one")


def write_bytes(path, content):
    """Write the whole file or nothing. A missing folder is made."""
    path = arguments.path_of("path", path, DataError)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path.parent} cannot be made: {error.strerror}") from error
    write_atomically(path, content)
