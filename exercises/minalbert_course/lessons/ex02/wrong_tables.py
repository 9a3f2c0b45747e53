"""Points of exercise 2's embedding, and what mistakes make of it and of its tables' gradients."""

import numpy as np

from minalbert.layers import embedding_backward, embedding_forward

from ...narrow import CAUSE, ROWS
from ..corners import Corner, upstream
from .wrong_rows import means, sequences

VOCABULARY = 2050                                    # more words than float16 can count; np.eye(V)[ids] is right, too
LOOKUP = (
    Corner(B=1, T=1, E=1, V=1, M=1),
    Corner("tiny", B=2, T=1, E=4, V=2, M=2, word=1, type=1),
    Corner("large", B=4, T=3, E=2, V=40, M=3),
    Corner("zero", B=1, T=2, E=3, V=3, M=4, word=0, type=0),
    Corner(B=2, T=3, E=2, V=6, M=4, word=3, type=0),
    Corner(B=1, T=3, E=4, V=5, M=4, type=1),
    Corner(B=3, T=4, E=1, V=4, M=4),
    Corner(B=1, T=521, E=2, V=5, M=521),
    Corner(B=3, T=3, E=3, V=3, M=3),
    Corner(B=1, T=9, E=1, V=VOCABULARY, M=9),
    Corner(B=70, T=2, E=300, V=4, M=2),
    Corner(B=1, T=9, E=1, V=ROWS, M=9, narrow=True, guess=CAUSE),
)

ROOMY = tuple(Corner(corner.kind, narrow=corner.narrow, guess=corner.own_guess,
                      **corner.sizes | {"M": corner.sizes["M"] + 1}) for corner in LOOKUP)


def lookup(draw):
    """ids, types, word, position, token_type, dy. Some words come twice, in one sequence and in two; some never."""
    B, T, E, V, M = draw.sizes(B=2, T=5, E=4, V=9, M=8, least=4)
    ids, types = draw.integers(0, V, B, T), draw.integers(0, 2, B, T)
    ids[ids == 1] = 0                                # which never comes
    ids[0, -1] = ids[-1, 0] = ids[0, 0]
    ids[-1, -1] = V - 1 if V != 2 else 0
    types[0, 0], types[0, -1], types[-1, 0], types[-1, -1] = 0, 1, 1, 1
    if corner := getattr(draw, "corner", None):
        ids[:], types[:] = corner.sizes.get("word", ids), corner.sizes.get("type", types)
    tables = draw.normal(V, E), draw.normal(max(M, T + 2 * (corner is None)), E), draw.normal(2, E)
    return ids, types, *tables, upstream(draw, B, T, E)


def lookup_reference(ids, types, word, position, token_type, dy):
    y, cache = embedding_forward(ids, types, word, position, token_type)
    return y, embedding_backward(dy, cache)


def added_up(table, rows, dy):
    result = np.zeros_like(table)
    np.add.at(result, rows, dy)
    return result


def overwritten(table, rows, dy):
    result = np.zeros_like(table)
    result[rows] = dy
    return result


def wrong_embeddings(ids, types, word, position, token_type, expected):
    """What mistakes make of y."""
    T, rows = ids.shape[1], len(position)
    mine = position[:T]
    others = {
        "positions begin at 1, where they must begin at 0": position[np.arange(1, T + 1) % rows],
        "the last rows of the table of positions are taken, where its first are meant": position[-T:],
        "all places get the first position": position[0],
        "all places get the last position": position[T - 1],
        "positions run backwards": mine[::-1],
        "the table of positions is looked up with ids": position[ids % rows],
        "each sequence gets one position, by its number in the batch":
            position[np.arange(len(ids)) % rows][:, None],
        "position[types] is added, where position[t] is meant": position[types % rows],
    }  # fmt: skip
    kinds = {
        "the table of token types is looked up with ids": token_type[ids % 2],
        "both token types are exchanged": token_type[1 - types],
        "all places get the first token type": token_type[0],
        "all places get the second token type": token_type[1],
        "all places get the token type of the first in the sequence": token_type[types[:, :1]],
        "all sequences get the token types of the first": token_type[types[:1]],
        "places of type 0 get nothing from the table: its first row is a type as the second is":
            types[..., None] * token_type[1],
    }
    words = {
        "all sequences get the words of the first": word[ids[:1]],
        "the table of words is looked up with ids - 1": word[ids - 1],
        "the table of words is looked up with ids + 1": word[(ids + 1) % len(word)],
        "words are multiplied by √E": word[ids] * word.shape[1] ** 0.5,
    } | {says: word[narrow] for says, narrow in narrowed(ids, word)}
    groups = (others, mine), (kinds, token_type[types]), (words, word[ids])
    return {says: expected - right + array for ways, right in groups for says, array in ways.items()}


def narrowed(ids, word):
    """(words for the mistake, ids that are not what they were)"""
    for kind in (np.int8, np.uint8):
        if len(word) > np.iinfo(kind).max and ids.astype(kind).min() >= -len(word):
            yield f"ids are made {kind.__name__}, which cannot count all words", ids.astype(kind)


def wrong_words(ids, word, dy, expected):
    """What mistakes make of dword."""
    counts = np.maximum(1, np.bincount(ids.ravel(), minlength=len(word)))
    first = overwritten(word, ids.ravel()[::-1], dy.reshape(-1, dy.shape[-1])[::-1])
    return {
        "a word that comes more than once kept only its last gradient: both = and += on table[ids] write each row "
        "once, however often it is named": overwritten(word, ids, dy),
        "a word that comes more than once kept only its first gradient": first,
        "the mean over a word's places is taken, where the sum is meant": expected / counts[:, None],
        "the gradients are multiplied by the words' own rows": expected * word,
        "each row got the sum over all places": np.broadcast_to(dy.sum(axis=(0, 1)), word.shape),
        "the row of word 0 is left out": np.where(np.arange(len(word))[:, None] == 0, 0, expected),
        "the row of the last word is left out": np.where(np.arange(len(word))[:, None] == len(word) - 1, 0, expected),
        "the rows are one too far down": np.roll(expected, 1, axis=0),
        "the rows are one too far up": np.roll(expected, -1, axis=0),
    } | {says: added_up(word, narrow, dy) for says, narrow in narrowed(ids, word)}


def wrong_positions(position, dy, expected):
    """What mistakes make of dposition."""
    B, T, _ = dy.shape
    parts = np.stack([overwritten(position, np.arange(T), part) for part in dy])
    last = np.zeros_like(expected)
    last[len(last) - T :] = expected[:T]
    return means(expected, B, T) | sequences(parts) | {
        "positions begin at 1, where they must begin at 0": np.roll(expected, 1, axis=0),
        "the gradients are put into the last rows of the table, where its first are meant": last,
        "each row got the sum over all places": np.broadcast_to(dy.sum(axis=(0, 1)), expected.shape),
        "the first row got the sum over all places": overwritten(position, 0, dy.sum(axis=(0, 1))),
        "the rows are in reverse order": np.concatenate([expected[:T][::-1], expected[T:]]),
        "the first position is left out": overwritten(position, np.arange(1, T), expected[1:T]),
        "the last position is left out": overwritten(position, np.arange(T - 1), expected[: T - 1]),
    }  # fmt: skip


def wrong_types(types, token_type, dy, expected):
    """What mistakes make of dtoken_type."""
    counts = np.maximum(1, np.bincount(types.ravel(), minlength=2))[:, None]
    return {
        "a type that comes more than once kept only its last gradient: both = and += on table[types] write each row "
        "once, however often it is named": overwritten(token_type, types, dy),
        "the mean over a type's places is taken, where the sum is meant": expected / counts,
        "both rows got the sum over all places": np.broadcast_to(dy.sum(axis=(0, 1)), token_type.shape),
        "both rows are exchanged": expected[::-1],
        "the first row is left out": np.array([0 * expected[0], expected[1]]),
        "the second row is left out": np.array([expected[0], 0 * expected[1]]),
    }
