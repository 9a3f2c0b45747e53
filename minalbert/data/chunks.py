"""Which sentences belong to which instance: the table of chunks.

A chunk is a run of whole sentences of one document, from which every epoch makes one instance anew. The table is
drawn once from the seed, so that an instance number means the same sentences in every epoch.

policy "clean". Chunks part a document: each sentence is in one chunk, none in two. A chunk takes sentences while
the next one fits, so nothing is truncated. A pair needs two sentences, hence
  * a chunk takes two even where they do not fit; only then is an instance truncated;
  * a sentence left alone at the end gets the last one of the chunk beside it for company, or, where that
    has but two, joins them;
  * a document of one sentence gives no pair. It is left out, and counted; pairs="none" uses it.
Each chunk draws by itself whether it is a short one. Half of the documents, drawn from the seed, are filled from
their back: the sentence that did not fit opens the next chunk, and is longer than most, so that with one
direction alone the segments' lengths would tell their order.

policy "released". A chunk takes sentences until it has at least as many tokens as its target, the whole document
long; the surplus is truncated. Whether the target is short is drawn once for the document (in the script: and
for each pass). A chunk of one sentence stays, and its second segment will come from another document. For NSP,
half of the other chunks do likewise, and give back the sentences after their first segment: so where a segment
ends, and whether the next one follows, are fixed here.
"""

from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .random_draws import Draw, below, bits, chance, keys, lower

BEFORE_ALL = -1                                      # the epoch of draws that hold for all epochs


class Table(NamedTuple):
    """One row an instance."""

    document: np.ndarray                             # (N,) numbered through all shards
    first: np.ndarray                                # (N,) sentence of the shard
    last: np.ndarray                                 # (N,) past the last sentence
    target: np.ndarray                               # (N,) tokens it was filled for
    split: np.ndarray | None                         # (N,) released NSP: sentences of the first segment
    negative: np.ndarray | None                      # (N,) released NSP: and does it come from elsewhere?
    left_out: int                                    # documents that gave no instance

    def __len__(self):
        return len(self.document)


def build_table(texts, recipe, seed):
    if texts.document_count == 0:
        raise DataError("the corpus is empty: it has no document")
    parts = [_shard_table(texts, shard, recipe, seed) for shard in range(len(texts.documents))]
    columns = np.concatenate([rows for rows, _ in parts], axis=1)                 # (6, N)
    if not columns.size:
        raise DataError(
            f"each of the corpus's {texts.document_count} documents has one sentence only, and a pair needs two: "
            "do blank lines stand between documents, and not between sentences? (pairs='none' needs no pair)"
        )
    fixed = (None, None)
    if recipe.policy == "released" and recipe.pairs == "nsp":
        fixed = columns[4], columns[5].astype(bool)
    return Table(*columns[:4], *fixed, sum(left_out for _, left_out in parts))


def _shard_table(texts, shard, recipe, seed):
    """One shard's columns of the table, and its documents that gave no instance."""
    documents = texts.documents[shard]
    numbers = np.arange(texts.first_document[shard], texts.first_document[shard + 1])
    drawn = _draws(numbers, texts.sentences[shard], documents, recipe, seed)
    rows, left_out = [], 0
    for place, (start, stop) in enumerate(zip(documents[:-1].tolist(), documents[1:].tolist(), strict=True)):
        chunks = _chunks(drawn.of(place, start, stop), recipe)
        left_out += not chunks
        rows += [(numbers[place], start + first, start + last, *rest) for first, last, *rest in chunks]
    return np.array(rows, np.int64).reshape(-1, 6).T, left_out


class _Draws(NamedTuple):
    """What a shard's chunks depend on besides the sentences' lengths."""

    lengths: np.ndarray                              # (S,) tokens of each sentence
    targets: np.ndarray                              # (S,) tokens to fill a chunk from here for; released: [0] for all
    backwards: np.ndarray                            # (D,) is the document filled from its back?
    coins: np.ndarray                                # (S,) is the second segment of a chunk from here a random one?
    splits: np.ndarray                               # (S,) 32 bits: where does the first segment end?

    def of(self, document, start, stop):
        here = slice(start, stop)
        return _Draws(
            self.lengths[here].tolist(), self.targets[here].tolist(), bool(self.backwards[document]),
            self.coins[here].tolist(), self.splits[here].tolist(),
        )  # fmt: skip


def _draws(numbers, begins, documents, recipe, seed):
    document_keys = keys(seed, BEFORE_ALL, numbers)                               # (D,)
    counts = np.diff(documents.astype(np.int64))
    owner = np.repeat(document_keys, counts)                                      # (S,)
    place = np.arange(len(owner)) - np.repeat(documents[:-1].astype(np.int64), counts)
    short = bits(owner, Draw.SHORT, place)
    shorter = 2 + below(lower(short), max(1, recipe.room - 1))                    # 2..room
    return _Draws(
        lengths=np.diff(begins.astype(np.int64)),
        targets=np.where(chance(short, recipe.short_fraction), shorter, recipe.room),
        backwards=chance(bits(document_keys, Draw.DIRECTION), 0.5),
        coins=chance(bits(owner, Draw.NEGATIVE, place), 0.5),
        splits=bits(owner, Draw.SPLIT, place) >> 32,
    )


def _chunks(drawn, recipe):
    """(first, last, target, split, negative) of each chunk, counted from the document's first sentence; the last two
    are zeros where each epoch draws them."""
    if recipe.policy == "released":
        return list(_released(drawn, recipe))
    count = len(drawn.lengths)
    if count < recipe.segments:
        return []
    if drawn.backwards:
        bounds = fill(drawn.lengths[::-1], drawn.targets[::-1], recipe.segments)
        targets = [drawn.targets[count - 1 - first] for first in bounds[:-1]][::-1]
        bounds = [count - bound for bound in reversed(bounds)]
    else:
        bounds = fill(drawn.lengths, drawn.targets, recipe.segments)
        targets = [drawn.targets[first] for first in bounds[:-1]]
    return [(first, last, target, 0, 0) for first, last, target in zip(bounds[:-1], bounds[1:], targets, strict=True)]


def fill(lengths, targets, least):
    """Where chunks begin, and the end: at least so many sentences each, and more while they fit."""
    bounds, used, held = [0], 0, 0
    for place, length in enumerate(lengths):
        if held >= least and used + length > targets[bounds[-1]]:
            bounds.append(place)
            used = held = 0
        used += length
        held += 1
    if held < least and len(bounds) > 1:
        if bounds[-1] - bounds[-2] > least:
            bounds[-1] -= 1                          # the chunk beside it gives its last sentence
        else:
            bounds.pop()                             # or takes this one in
    return [*bounds, len(lengths)]


def _released(drawn, recipe):
    first = place = used = 0
    count = len(drawn.lengths)
    while place < count:
        used += drawn.lengths[place]
        place += 1
        if place < count and used < drawn.targets[0]:
            continue
        if recipe.pairs != "nsp":
            yield first, place, drawn.targets[0], 0, 0
        else:
            split = max(1, 1 + (drawn.splits[first] * (place - first - 1) >> 32))
            negative = drawn.coins[first] or place - first == 1
            yield first, place, drawn.targets[0], split, negative
            place = first + split if negative else place                          # the rest is used again
        first, used = place, 0
