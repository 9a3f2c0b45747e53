"""Which sentences belong to which instance: the table of chunks.

A chunk is a run of whole sentences of one document, from which every epoch makes one instance. The table is sampled
once from the seed, so that an instance number means the same sentences in every epoch.

policy "clean". Each sentence of a document is in exactly one chunk. A chunk takes sentences while the next one fits, so
that nothing is truncated. A pair needs two sentences, therefore
  * a chunk takes two even if they do not fit; only then is an instance truncated;
  * a sentence that is left alone at the end gets the last sentence of the chunk before it, or joins that chunk if it
    has only two;
  * a document of one sentence gives no pair. It is left out and counted; pairs="none" uses it.
Each chunk is short with a probability of its own. Half of the documents are filled from their back: the sentence that
did not fit begins the next chunk and is longer than most, so that with one direction only, the segments' lengths would
reveal their order.

policy "released". A chunk takes sentences until it has at least as many tokens as its target, through the whole
document; the surplus is truncated. Whether the target is short is sampled once for the document (in the script: and
for each pass). A chunk of one sentence stays, and its second segment will come from another document. For NSP, so does
the second segment of half of the other chunks, whose sentences after the first segment are used again: so the table
fixes the first segment's end, and whether the next one follows.
"""

from array import array
from functools import partial
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .packing import offset_dtype
from .random_draws import Choice, below, bits, chance, keys, lower

BEFORE_ALL = -1                                      # the "epoch" of choices that hold for all epochs


class ChunkRows(NamedTuple):
    """Some rows of the table, one for each instance."""

    document: np.ndarray                             # (B,) numbered through all shards
    first: np.ndarray                                # (B,) sentence of the shard
    last: np.ndarray                                 # (B,) past the last sentence
    target: np.ndarray                               # (B,) tokens it was filled for
    split: np.ndarray                                # (B,) released NSP: sentences of the first segment
    negative: np.ndarray                             # (B,) released NSP: is the second from another document?


class ShardTable(NamedTuple):
    """The rows of one shard, in memory; chunk_files.py has those of a large corpus."""

    numbers: np.ndarray                              # (n, 6) the columns of ChunkRows; documents are the shard's
    left_out: int                                    # documents that gave no instance

    def __len__(self):
        return len(self.numbers)

    def rows(self, which):
        return self.numbers[which]


class ChunkTable:
    """The rows of all shards, one after the other."""

    def __init__(self, tables, first_document):
        """tables: one of each shard; first_document: (S+1,) the number of each shard's first"""
        self.tables, self.first_document = tables, first_document
        self.starts = np.concatenate([[0], np.cumsum([len(table) for table in tables], dtype=np.int64)])
        self.left_out = sum(table.left_out for table in tables)

    def __len__(self):
        return int(self.starts[-1])

    def rows(self, numbers):
        """The ChunkRows of these instances."""
        shard = np.searchsorted(self.starts, numbers, "right") - 1
        found = np.empty((len(numbers), len(ChunkRows._fields)), np.int64)
        for one in np.unique(shard):
            here = np.flatnonzero(shard == one)
            found[here] = self.tables[one].rows(numbers[here] - self.starts[one])
        found[:, 0] += self.first_document[shard]
        return ChunkRows(*found[:, :-1].T, found[:, -1].astype(bool))

    def all(self):
        """The ChunkRows of a whole epoch."""
        return self.rows(np.arange(len(self)))


def build_table(texts, recipe, seed, files=None):
    """The table of all chunks of a corpus. files: the ChunkFiles of a large one, which have what was made before."""
    if texts.document_count == 0:
        raise DataError("the corpus is empty: it has no document")
    make = partial(shard_table, texts, recipe, seed)
    of_shard = partial(files.table, make) if files else make
    tables = [of_shard(shard) for shard in range(len(texts.documents))]
    table = ChunkTable(tables, texts.first_document)
    if not len(table):
        raise DataError(
            f"each of the corpus's {texts.document_count} documents has one sentence only, and a pair needs two: "
            "do blank lines stand between documents, and not between sentences? (pairs='none' needs no pair)"
        )
    return table


def shard_table(texts, recipe, seed, shard):
    documents = np.asarray(texts.documents[shard])
    numbers = np.arange(texts.first_document[shard], texts.first_document[shard + 1])
    sampled = _sample(numbers, np.asarray(texts.sentences[shard]), documents, recipe, seed)
    rows, left_out = array("Q"), 0
    for place, (start, stop) in enumerate(zip(documents[:-1].tolist(), documents[1:].tolist(), strict=True)):
        chunks = _chunks(sampled.of(place, start, stop), recipe)
        left_out += not chunks
        for first, last, *rest in chunks:
            rows.extend((place, start + first, start + last, *map(int, rest)))
    largest = max(int(documents[-1]), recipe.room, 1)
    return ShardTable(np.array(rows, offset_dtype(largest)).reshape(-1, len(ChunkRows._fields)), left_out)


class _Sampled(NamedTuple):
    """The sentences' lengths and the random choices of which a shard's chunks are made."""

    lengths: np.ndarray                              # (S,) tokens of each sentence
    targets: np.ndarray                              # (S,) size of a chunk that begins here; released: [0] for all
    backwards: np.ndarray                            # (D,) is the document filled from its back?
    negatives: np.ndarray                            # (S,) is the second segment of a chunk from here a random one?
    splits: np.ndarray                               # (S,) 32 bits that choose the end of the first segment

    def of(self, document, start, stop):
        here = slice(start, stop)
        return _Sampled(
            self.lengths[here].tolist(), self.targets[here].tolist(), bool(self.backwards[document]),
            self.negatives[here].tolist(), self.splits[here].tolist(),
        )  # fmt: skip


def _sample(numbers, begins, documents, recipe, seed):
    document_keys = keys(seed, BEFORE_ALL, numbers)                               # (D,)
    counts = np.diff(documents.astype(np.int64))
    owner = np.repeat(document_keys, counts)                                      # (S,)
    place = np.arange(len(owner)) - np.repeat(documents[:-1].astype(np.int64), counts)
    short = bits(owner, Choice.SHORT, place)
    shorter = 2 + below(lower(short), max(1, recipe.room - 1))                    # 2..room
    return _Sampled(
        lengths=np.diff(begins.astype(np.int64)),
        targets=np.where(chance(short, recipe.short_fraction), shorter, recipe.room),
        backwards=chance(bits(document_keys, Choice.DIRECTION), 0.5),
        negatives=chance(bits(owner, Choice.NEGATIVE, place), 0.5),
        splits=bits(owner, Choice.SPLIT, place) >> 32,
    )


def _chunks(sampled, recipe):
    """(first, last, target, split, negative) of each chunk, counted from the document's first sentence. The last two
    are zeros if they are sampled for each epoch."""
    if recipe.policy == "released":
        return list(_released(sampled, recipe))
    count = len(sampled.lengths)
    if count < recipe.segments:
        return []
    if sampled.backwards:
        bounds = fill(sampled.lengths[::-1], sampled.targets[::-1], recipe.segments)
        targets = [sampled.targets[count - 1 - first] for first in bounds[:-1]][::-1]
        bounds = [count - bound for bound in reversed(bounds)]
    else:
        bounds = fill(sampled.lengths, sampled.targets, recipe.segments)
        targets = [sampled.targets[first] for first in bounds[:-1]]
    return [(first, last, target, 0, 0) for first, last, target in zip(bounds[:-1], bounds[1:], targets, strict=True)]


def fill(lengths, targets, least):
    """The first sentence of each chunk, and the end: at least so many sentences each, and more while they fit."""
    bounds, used, held = [0], 0, 0
    for place, length in enumerate(lengths):
        if held >= least and used + length > targets[bounds[-1]]:
            bounds.append(place)
            used = held = 0
        used += length
        held += 1
    if held < least and len(bounds) > 1:
        if bounds[-1] - bounds[-2] > least:
            bounds[-1] -= 1                          # the chunk before it gives its last sentence
        else:
            bounds.pop()                             # or takes this one
    return [*bounds, len(lengths)]


def _released(sampled, recipe):
    first = place = used = 0
    count = len(sampled.lengths)
    while place < count:
        used += sampled.lengths[place]
        place += 1
        if place < count and used < sampled.targets[0]:
            continue
        if recipe.pairs != "nsp":
            yield first, place, sampled.targets[0], 0, 0
        else:
            split = max(1, 1 + (sampled.splits[first] * (place - first - 1) >> 32))
            negative = sampled.negatives[first] or place - first == 1
            yield first, place, sampled.targets[0], split, negative
            place = first + split if negative else place                          # the rest is used again
        first, used = place, 0
