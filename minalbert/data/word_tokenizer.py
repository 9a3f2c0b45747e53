"""A tokenizer of whole words, for tiny worlds, whose words are known, so that nothing is trained.

    ids 0-4    the special pieces          ids 5...    the words, in the order given

Text is split at white space, and a word outside the list is <unk>. A text of known words with single spaces between
them is decoded to itself.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from contextlib import suppress

import numpy as np

from ..arguments import of_kind, path_of
from ..errors import DataError
from ..files import read_json
from .tokenizer import CLS, MASK, PAD, SEP, SPECIALS, UNK, Tokenizer, write_bytes
from .tokenizer_json import words_files

FORMAT = "minalbert word list 1"
HALF = re.compile("[\ud800-\udfff]")                 # of a surrogate pair, which UTF-8 cannot write


class WordTokenizer(Tokenizer):
    """A fixed list of words: every word is one token, and any other word is <unk>."""

    file_name = "tokenizer.json"

    def __init__(self, words):
        words = list(of_kind("words", words, Iterable, DataError))
        for word in words:
            if not isinstance(word, str) or word.split() != [word] or HALF.search(word):
                raise DataError(f"{word!r} is in the word list; a word must be letters or signs without white space")
        self.pieces = [*SPECIALS, *words]
        if len(set(self.pieces)) < len(self.pieces):
            twice = next(piece for i, piece in enumerate(self.pieces) if piece in self.pieces[:i])
            raise DataError(f"{twice!r} is twice in the vocabulary of the five special pieces and the word list")
        if not words:
            raise DataError("the word list is empty; it must have at least one word")
        self.vocab_size = len(self.pieces)
        self.word_starts = np.ones(self.vocab_size, bool)
        self.digest = hashlib.sha256(self._file()).hexdigest()
        self._ids = {word: i for i, word in enumerate(self.pieces) if i >= len(SPECIALS)}

    def encode_many(self, texts):
        ids = self._ids
        return [[ids.get(word, UNK) for word in text.split()] for text in self.check_texts(texts)]

    def encode_with_places(self, text):
        return self.encode(text), [word.span() for word in re.finditer(r"\S+", text)]

    def decode(self, ids):
        return " ".join(self.pieces[i] for i in self.check_ids(ids) if i not in (PAD, CLS, SEP, MASK))

    def save(self, path):
        write_bytes(path, self._file())

    def files(self):
        """Theirs alone: their tokenizer.json holds all words, and `load` reads it as well."""
        return words_files(self.pieces[len(SPECIALS) :])

    def _file(self):
        content = {"format": FORMAT, "words": self.pieces[len(SPECIALS) :]}
        return (json.dumps(content, ensure_ascii=False, indent=0) + "\n").encode("utf-8")

    @classmethod
    def load(cls, path, advice=""):
        found = read_json(path_of("path", path, DataError), advice)
        if "model" in found:                         # of `files`
            with suppress(KeyError, TypeError):
                tokenizer = cls([*found["model"]["vocab"]][len(SPECIALS) :])
                if json.loads(tokenizer.files()[cls.file_name]) == found:
                    return tokenizer
        if not isinstance(found.get("words"), list) or "format" not in found:
            raise DataError(f"{path} is no word list that minalbert wrote")
        if found["format"] != FORMAT:
            raise DataError(f"{path} has the format {found['format']!r}; it must be {FORMAT!r}")
        return cls(found["words"])
