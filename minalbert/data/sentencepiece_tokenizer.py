"""sentencepiece as ALBERT uses it: clean-up, pieces, and one rule for a comma after a digit.

The rule: a piece such as "000," or "▁9," joins a number and a comma. It is split: the text before the comma is encoded
again, alone, and "," follows as its own piece. Encoding puts ▁ (the beginning of a word) before any text, so for a
piece that had none the script removes the ▁ again. At least that was intended:

    digit_commas   "00," of "2000," becomes    where
    "intended"     0 0 ,                       the released script in Python 2; the default
    "python3"      ▁ 0 0 ,                     the released script in Python 3, where the ▁ is not recognised
    "off"          00,                         plain sentencepiece

It is not known which of them made the released models. If the intended rule leaves a piece that the vocabulary lacks
(▁200 is a piece and 200 is not), the script gets <unk>; here it becomes its characters. The result depends on the piece
alone, so that all results are one table, made once.
"""

import hashlib
import json
import string
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..arguments import path_of
from ..errors import DamagedError, DataError
from ..files import checksum, read, read_json
from .normalise import Normaliser
from .tokenizer import SPECIALS, UNK, Tokenizer, write_bytes
from .tokenizer_json import sentencepiece_files

WORD = "▁"                                           # U+2581, the first character of a piece that begins a word
DIGIT_COMMAS = ("intended", "python3", "off")
JOINING = frozenset(string.punctuation) - frozenset("'<=>")
LETTERS = frozenset(string.ascii_letters)


class SentencePieceTokenizer(Tokenizer):
    """A sentencepiece model with ALBERT's clean-up and digit rule.

    `recipe` says how the model was trained, if that is known: it is saved beside the model and changes no id.
    """

    file_name = "tokenizer.model"

    def __init__(self, model, normaliser=Normaliser(), digit_commas="intended", recipe=None, name="the model"):
        if digit_commas not in DIGIT_COMMAS:
            raise DataError(f"digit_commas is {digit_commas!r}; it must be one of: {', '.join(DIGIT_COMMAS)}")
        self.model, self.normaliser, self.digit_commas, self.recipe = model, normaliser, digit_commas, recipe
        self._processor = processor(model, name)
        self.vocab_size = self._processor.vocab_size()
        self.pieces = [self._processor.id_to_piece(i) for i in range(self.vocab_size)]
        self.word_starts = np.array([i < len(SPECIALS) or is_start(piece) for i, piece in enumerate(self.pieces)])
        settings = {"model": hashlib.sha256(model).hexdigest(), **self.settings()}
        self.digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self._splits = {}
        if digit_commas != "off":
            self._splits = {i: self._without_comma(p) for i, p in enumerate(self.pieces) if has_digit_comma(p)}

    def settings(self):
        """Everything but the model itself that ids depend on."""
        return {"normaliser": asdict(self.normaliser), "digit_commas": self.digit_commas}

    def encode_many(self, texts):
        found = self._processor.encode(self.normaliser.many(texts), out_type=int, num_threads=1)
        if self._splits:
            found = [ids if self._splits.keys().isdisjoint(ids) else self._split(ids) for ids in found]
        return found

    def encode_with_places(self, text):
        ids, characters = [], []
        clean, places = self.normaliser.with_places(text)
        for i, piece in zip(*(self._processor.encode(clean, out_type=kind) for kind in (int, str)), strict=True):
            parts = self._splits.get(i, (i,))
            ids += parts
            characters += [piece] if parts == (i,) else self._characters(piece, parts)
        plain, offsets = self._processor.normalize(clean, with_offsets=True)
        places.append(len(text))
        return ids, places_of(text, characters, plain, [places[i] for i in offsets])

    def _characters(self, piece, parts):
        """What each part of a piece that the digit rule takes apart has of it: as many characters, whichever."""
        found = ["?" if i == UNK else self.pieces[i].replace(WORD, "") for i in parts]
        found[0] = WORD * piece.startswith(WORD) + found[0]
        if missing := len(piece) - sum(map(len, found)):            # several unknown characters are one <unk>
            found[parts.index(UNK) if UNK in parts else 0] += "?" * missing
        return found

    def decode(self, ids):
        return self._processor.decode(self.check_ids(ids))

    def _split(self, ids):
        return [piece for i in ids for piece in self._splits.get(i, (i,))]

    def _without_comma(self, piece):
        pieces = self._processor.encode(piece[:-1].replace(WORD, ""), out_type=str)
        if self.digit_commas == "intended" and not piece.startswith(WORD):
            first = pieces[0].removeprefix(WORD)
            known = self._processor.piece_to_id(first) != UNK
            pieces[:1] = [first] if known else first               # a string is its characters; "" is none
        return tuple(self._processor.piece_to_id(piece) for piece in [*pieces, ","])

    def save(self, path):
        """Save the model, and beside it a recipe: how it was trained and must be used."""
        write_bytes(recipe_path(path), self._recipe_file())
        write_bytes(path, self.model)

    def files(self):
        ours = {self.file_name: self.model, recipe_path(self.file_name).name: self._recipe_file()}
        return ours | sentencepiece_files(self, self._processor)

    @property
    def taken_apart(self):
        """The pieces that join a digit and a comma, where the rule takes them apart."""
        return [self.pieces[i] for i in self._splits]

    def _recipe_file(self):
        recipe = {"model_sha256": hashlib.sha256(self.model).hexdigest(), **self.settings(), "training": self.recipe}
        recipe["sha256"] = checksum(recipe)
        return (json.dumps(recipe, ensure_ascii=False, indent=1) + "\n").encode("utf-8")

    @classmethod
    def load(cls, path, advice=""):
        """Load a model with the settings beside it, or with ALBERT's if there are none, as for released models."""
        path = path_of("path", path, DataError)
        model, beside = read(path, advice), recipe_path(path)
        if not beside.exists():
            return cls(model, name=path)
        remove = advice or f"remove it to use {path} as ALBERT"
        recipe = read_json(beside, remove)
        try:
            made_for, training = recipe["model_sha256"], recipe["training"]
            normaliser, digit_commas = Normaliser(**recipe["normaliser"]), recipe["digit_commas"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{beside} is no recipe that minalbert wrote; {remove}") from error
        if made_for != hashlib.sha256(model).hexdigest():
            raise DataError(f"{beside} belongs to another model than {path}; {remove}")
        if recipe.get("sha256", whole := checksum(recipe)) != whole:              # version 0.1.0 wrote none
            raise DamagedError(f"{beside} is damaged: its checksum is not that of its content; {remove}")
        return cls(model, normaliser, digit_commas, training, name=path)


def places_of(text, pieces, plain, begins):
    """The place in a text of each piece: the characters of `plain`, one piece after the other, begin at `begins`."""
    places, at, past = [], 0, [*begins]
    for k in reversed(range(len(plain))):            # a character ends where another one begins
        past[k] = begins[k + 1] if begins[k + 1] > begins[k] else past[k + 1]
    for piece in pieces:
        end = at + len(piece)
        at += len(piece) - len(piece.lstrip(WORD))
        first = begins[at]
        places.append((first, first + len(text[first : past[end - 1]].rstrip()) if at < end else first))
        at = end
    return places


def sentencepiece():
    try:
        import sentencepiece
    except ImportError as error:
        raise DataError("sentencepiece is not installed; pip install 'minalbert[train]' brings it") from error
    return sentencepiece


def processor(model, name):
    """sentencepiece's processor for a model, whose first ids must be ALBERT's."""
    library = sentencepiece()
    try:
        found = library.SentencePieceProcessor(model_proto=model) if model else None
    except RuntimeError:
        found = None
    if not found or not found.vocab_size():
        raise DataError(f"{name} is no sentencepiece model")
    for i, special in enumerate(SPECIALS):
        piece = found.id_to_piece(i) if i < found.vocab_size() else None
        if piece != special:
            raise DataError(f"{name} has {piece!r} at id {i}, where ALBERT's models have {special!r}; "
                            f"train one with `minalbert tokenizer train`")  # fmt: skip
        if not (found.is_unknown(i) if i == UNK else found.is_control(i)):
            raise DataError(f"{name} has {special!r} as a piece that a text can contain; it must be a control symbol")
    return found


def recipe_path(path):
    return Path(path).with_suffix(".recipe.json")


def has_digit_comma(piece):
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def is_start(piece):
    """Does a piece begin a word? By the released script's rule, which knows only words in ASCII letters.

    Yes if it begins with ▁, if it is one sign, or if it has any character but ASCII letters and signs: a digit, another
    alphabet, or one of ' < = >, which are no signs by this rule.
    """
    return piece[0] == WORD or piece in JOINING or not LETTERS.union(JOINING).issuperset(piece)
