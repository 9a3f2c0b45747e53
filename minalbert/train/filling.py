"""Fill in hidden words: a model's guesses for each [MASK] of a text, and what it looks at to make them.

    filled = fill(model, tokenizer, "ada kneaded the [MASK] .")
    filled.guesses[0]                # [Guess(piece="dough", probability=0.62), ...]
    filled.attention                 # (M, L, N, T): of each mask, in each layer, for each head, over the tokens

`minalbert fill` draws it with letters; `minalbert.plots.attention_strip` draws the attention.
"""

import re
from typing import NamedTuple

import numpy as np

from ..albert import Albert
from ..arguments import of_kind, whole
from ..arguments import text as text_of
from ..backend import to_host
from ..data.strip import shown_piece
from ..data.tokenizer import CLS, MASK, SEP, Tokenizer, check_belongs
from ..data.word_tokenizer import WordTokenizer
from ..errors import InputError
from ..layers import softmax
from ..optim import first_bad

WRITTEN = re.compile(r"\[MASK\]", re.IGNORECASE)
APART = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")      # words, and each other sign alone
EXAMPLE = 'minalbert fill "franz dunked the [MASK] in the tub ."'


class Guess(NamedTuple):
    piece: str
    probability: float


class Filled(NamedTuple):
    tokens: list[str]                                # what the model reads
    glued: list[bool]                                # does the token go on with the word before?
    segments: list[int]
    masks: list[int]                                 # their places
    guesses: list[list[Guess]]                       # of each, best first
    attention: np.ndarray                            # (M, L, N, T)
    notes: list[str]                                 # sentences about how the text was read

    def heading(self, number):
        """Which [MASK] it is, where there are several."""
        if len(self.masks) == 1:
            return "[MASK] may be"
        place = self.masks[number]
        around = self.tokens[max(0, place - 2) : place + 3]
        return f"[MASK] {number + 1} of {len(self.masks)}, in \"{' '.join(around)}\", may be"

    def shown_places(self, number, room):
        """The mask's, and those of the tokens it looks at most, as many as fit into `room` letters."""
        weights = self.attention[number].mean(1).max(0)
        weights[self.masks[number]] = np.inf
        return chosen(weights, [len(token) for token in self.tokens], room)


def chosen(weights, widths, room):
    """Places in order, the weightiest first to be taken."""
    taken = []
    for place in np.argsort(-weights, kind="stable").tolist():
        more = sorted([*taken, place])
        gaps = sum(b - a > 1 for a, b in zip([-1, *more], [*more, len(widths)], strict=True))
        if sum(widths[i] + 1 for i in more) + 2 * gaps <= room:
            taken = more
    return taken


def fill(model, tokenizer, text, second=None, top=5):
    of_kind("model", model, Albert)
    of_kind("tokenizer", tokenizer, Tokenizer)
    check_belongs(tokenizer, model.tokenizer_digest)
    text_of("text", text)
    if second is not None:
        text_of("second", second)
    top = whole("top", top, 1, tokenizer.vocab_size)
    ids, segments, notes = encoded(tokenizer, [text] if second is None else [text, second])
    masks = [place for place, i in enumerate(ids) if i == MASK]
    if not masks:
        raise InputError(f"the text has no [MASK]; write it where a word is missing, all of it in quotes: {EXAMPLE}")
    check_length(model, ids)
    hidden, _ = model.encode([ids], None, [segments], [masks])
    chances = to_host(softmax(model.mlm_logits(hidden)))[0, :, : tokenizer.vocab_size]      # (M, V)
    if not np.isfinite(chances).all():
        raise InputError(f"the model's scores are not numbers: {first_bad(model.params) or 'no weight'} is not finite")
    maps = [to_host(probs)[0][:, masks] for probs in model.attention_maps([ids], None, [segments])]
    return Filled(
        tokens=[shown_piece(tokenizer.pieces[i]) for i in ids],
        glued=[not tokenizer.word_starts[i] for i in ids],
        segments=segments,
        masks=masks,
        guesses=[best(row, top, tokenizer) for row in chances],
        attention=np.stack(maps).transpose(2, 0, 1, 3),
        notes=notes,
    )


def check_length(model, ids):
    if len(ids) > model.config.max_position_embeddings:
        raise InputError(f"the text is {len(ids)} tokens long, with [CLS] and [SEP]; the model reads at most "
                         f"{model.config.max_position_embeddings}")


def best(chances, top, tokenizer):
    """A piece that goes on with a word has a · before it."""
    order = np.argsort(-chances, kind="stable")[:top]
    names = [("" if tokenizer.word_starts[i] else "·") + shown_piece(tokenizer.pieces[i]) for i in order]
    return [Guess(name, float(chances[i])) for name, i in zip(names, order, strict=True)]


# The text


def encoded(tokenizer, texts):
    """([CLS] a [SEP] b [SEP] in numbers, 0 0 0 1 1, sentences on what was done to the text)"""
    ids, segments, notes = [CLS], [0], []
    for segment, text in enumerate(texts):
        if isinstance(tokenizer, WordTokenizer):
            text = as_words(tokenizer, text, notes)
        found = [*with_masks(tokenizer, text), SEP]
        ids += found
        segments += [segment] * len(found)
    return ids, segments, notes


def with_masks(tokenizer, text):
    ids, end = [], 0
    for match in [*WRITTEN.finditer(text), None]:
        part = text[end : match.start() if match else None]
        found = tokenizer.encode(part)
        ids += unspaced(tokenizer, found) if end and part[:1].strip() else found
        if match:
            ids.append(MASK)
            end = match.end()
    return ids


def unspaced(tokenizer, ids):
    """Directly after a [MASK]: without the ▁ that a tokenizer puts before all it is given."""
    if not ids or not tokenizer.pieces[ids[0]].startswith("▁"):
        return ids
    rest = tokenizer.pieces[ids[0]][1:]
    return ([tokenizer.pieces.index(rest)] if rest in tokenizer.pieces else ids[:1] * bool(rest)) + ids[1:]


def as_words(tokenizer, text, notes):
    """As a word tokenizer knows them: in lower case, signs apart, a full stop at the end."""
    known, words = set(tokenizer.pieces), []
    for part in WRITTEN.sub(" [MASK] ", text).split():
        if part == "[MASK]" or part in known:
            words.append(part)
        else:
            words += [word if word in known else word.lower() for word in APART.findall(part)]
    unknown = dict.fromkeys(word for word in words if word not in known)
    if unknown:
        notes.append(f"not among the model's {len(known):,} words, and read as <unk>: {', '.join(unknown)}")
    if "." in known and words[-1:] != ["."]:
        words.append(".")
        notes.append("a full stop was added, as each sentence of its training had one")
    return " ".join(words)
