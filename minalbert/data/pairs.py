"""Two segments of text for each instance, as ranges of tokens: which, in which order, and what is cut off.

SOP: a chunk is divided at any boundary between its sentences, and the two segments are swapped in half of the
instances. NSP: in half of the instances, the second segment is replaced by sentences from another document. They have
as many tokens as the segment they replace, to the nearest sentence, so that only their content reveals the label.
In policy "released" a chunk of one sentence, in SOP too, is followed by sentences of another document and
labelled 1, and these are as many as it takes to reach the target.

What does not fit is removed from the longer segment, token by token, until both are equal, and then from each in turn.
How much is removed at a segment's front is sampled uniformly, so that over the epochs every token is used (released:
with probability 1/2 for each token, so that the middle is always kept).
"""

from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .random_draws import Choice, below, bits, chance

TRIES = 10                                           # of the released script, to find a document that is another
PLACES = 8                                           # of a document, among which a negative's is chosen


class Segments(NamedTuple):
    """First and second segment of each row, in the order in which they are read. pairs="none": the second is empty."""

    document: np.ndarray                             # (B, 2)
    shard: np.ndarray                                # (B, 2)
    start: np.ndarray                                # (B, 2) token of the shard
    stop: np.ndarray                                 # (B, 2)
    labels: np.ndarray                               # (B,)   SOP: 1 swapped; NSP: 1 not the next

    @property
    def lengths(self):
        return self.stop - self.start                # (B, 2)


class SegmentPairs:
    """Chooses the two segments of each row of a table."""

    def __init__(self, texts, table, recipe):
        self.texts, self.table, self.recipe = texts, table, recipe
        self.fixed = recipe.policy == "released" and recipe.pairs == "nsp"           # by the table, for all epochs
        if recipe.pairs == "nsp" and recipe.policy == "clean":
            self.elsewhere = Elsewhere(texts, recipe.nsp_negatives)

    def choose(self, numbers, keys):
        """numbers: (B,) rows of the table; keys: (B,) of this epoch."""
        texts, chunks = self.texts, self.table.rows(numbers)
        document, first, last = chunks[:3]
        split = self._splits(chunks, keys)
        shard = texts.shard_of(document)
        edges = texts.begins(np.stack([shard] * 3, 1), np.stack([first, split, last], 1))   # (B, 3)
        chosen = Segments(
            document=np.stack([document] * 2, 1),
            shard=np.stack([shard] * 2, 1),
            start=edges[:, :2].copy(),
            stop=edges[:, 1:].copy(),
            labels=np.zeros(len(numbers), np.int64),
        )
        chosen = self._replace(chosen, self._negatives(chunks, keys), chunks.target, keys)
        if self.recipe.pairs == "sop":
            chosen = swap(chosen, chance(bits(keys, Choice.SWAP), 0.5) & (last - first > 1))
        return self._truncate(chosen, keys)

    def _splits(self, chunks, keys):
        """(B,) the first sentence of the second segment."""
        if self.recipe.pairs == "none":
            return chunks.last
        if self.fixed:
            return chunks.first + chunks.split
        return chunks.first + 1 + below(bits(keys, Choice.SPLIT), np.maximum(chunks.last - chunks.first - 1, 1))

    def _negatives(self, chunks, keys):
        """(B,) is the second segment to come from another document?"""
        if self.recipe.pairs == "none":
            return np.zeros(len(keys), bool)
        if self.fixed:
            return chunks.negative
        if self.recipe.pairs == "nsp":
            return chance(bits(keys, Choice.NEGATIVE), 0.5)
        return chunks.last - chunks.first == 1       # never so under the clean policy

    def _replace(self, chosen, negative, target, keys):
        """Second segments from other documents, and label 1, for the rows whose `negative` is true."""
        rows = np.flatnonzero(negative)
        if not rows.size:
            return chosen
        if self.recipe.policy == "clean":
            document = self.elsewhere.documents(chosen.document[rows, 0], keys[rows])
            wanted = chosen.lengths[rows, 1]
        else:
            document = another(chosen.document[rows, 0], self.texts.document_count, keys[rows])
            wanted = target[rows] - chosen.lengths[rows, 0]
        shard, first, last = self.texts.sentences_of(document)
        draws = bits(keys[rows, None], Choice.SENTENCE, np.arange(PLACES))          # (rows, PLACES)
        starts = below(draws, (last - first)[:, None])
        find = nearest if self.recipe.policy == "clean" else enough
        for i, row in enumerate(rows):
            begins = self.texts.sentences[shard[i]][first[i] : last[i] + 1].astype(np.int64)
            start, stop = find(begins, starts[i], int(wanted[i]))
            chosen.document[row, 1], chosen.shard[row, 1] = document[i], shard[i]
            chosen.start[row, 1], chosen.stop[row, 1] = begins[start], begins[stop]
        chosen.labels[rows] = 1
        return chosen

    def _truncate(self, chosen, keys):
        cut = cuts(chosen.lengths, self.recipe.room)                              # (B, 2)
        if not cut.any():
            return chosen
        if self.recipe.truncate == "front":
            front = cut
        elif self.recipe.truncate == "back":
            front = np.zeros_like(cut)
        elif self.recipe.policy == "clean":
            front = below(bits(keys[:, None], Choice.TRIM, np.arange(2)), cut + 1)
        else:
            front = half_of(keys, cut)
        return chosen._replace(start=chosen.start + front, stop=chosen.stop - (cut - front))


def enough(begins, starts, wanted):
    """Sentences start..stop of a document, from the first place on, until they have the tokens wanted."""
    start = starts[0]
    return start, min(max(start + 1, np.searchsorted(begins, begins[start] + wanted)), len(begins) - 1)


def nearest(begins, starts, wanted):
    """Sentences start..stop whose tokens are nearest to the number wanted, of several places to start. With a single
    place, the end of the document or a long sentence would make a length that reveals the label."""
    after = np.searchsorted(begins, begins[starts] + wanted).clip(starts + 1, len(begins) - 1)
    stops = np.stack([np.maximum(after - 1, starts + 1), after])                  # (2, PLACES)
    misses = np.abs(begins[stops] - begins[starts] - wanted)
    side, place = np.unravel_index(misses.argmin(), misses.shape)
    return starts[place], stops[side, place]


def swap(chosen, swapped):
    """Swap the segments of the rows whose `swapped` is true, and label them 1."""
    order = np.stack([swapped, ~swapped], 1).astype(int)                          # (B, 2)
    turned = (np.take_along_axis(column, order, 1) for column in chosen[:4])
    return Segments(*turned, chosen.labels | swapped)


def cuts(lengths, room):
    """(B, 2) lengths -> how many tokens each segment loses: always the longer one, of equals the second."""
    surplus = np.maximum(lengths.sum(1) - room, 0)
    excess = lengths[:, 0] - lengths[:, 1]
    alone = np.minimum(surplus, np.abs(excess))      # removed from the longer one, until both are equal
    rest = surplus - alone
    return np.stack([rest // 2 + alone * (excess > 0), rest - rest // 2 + alone * (excess < 0)], 1)


def half_of(keys, counts):
    """Binomial numbers: of each of the (B, 2) counts, every one is taken with probability 1/2."""
    word = np.arange(-(-int(counts.max()) // 64))                                 # 64 random bits each
    taken = bits(keys[:, None, None], Choice.TRIM, np.arange(2)[:, None] + 2 * word)         # (B, 2, words)
    used = np.clip(counts[:, :, None] - 64 * word, 0, 64).astype(np.uint64)
    taken = np.where(used > 0, taken >> np.minimum(64 - used, 63), 0)
    return np.bitwise_count(taken).sum(2, dtype=np.int64)


def another(document, count, keys):
    """Another document, in ten tries; the last one counts even if it is the same document."""
    tries = below(bits(keys[:, None], Choice.DOCUMENT, np.arange(TRIES)), count)    # (B, 10)
    differs = tries != document[:, None]
    chosen = np.where(differs.any(1), differs.argmax(1), TRIES - 1)
    return tries[np.arange(len(tries)), chosen]


class Elsewhere:
    """Documents to take negatives from. They are sorted by topic, so that the forbidden ones (or the allowed ones) are
    neighbours, and one is sampled without repeated tries."""

    def __init__(self, texts, kind):
        topics = np.concatenate(texts.topics).astype(np.int64)
        self.kind = kind
        if kind == "uniform":
            topics = np.arange(len(topics))          # each document its own
        elif (topics < 0).any():
            raise DataError(
                f"nsp_negatives is {kind!r}, but this corpus does not know its documents' topics: use 'uniform'"
            )
        self.sorted = np.argsort(topics, kind="stable")
        self.rank = np.argsort(self.sorted)
        _, self.topic, sizes = np.unique(topics, return_inverse=True, return_counts=True)
        self.begin, self.size = np.cumsum(sizes) - sizes, sizes
        if len(sizes) == 1 and kind != "same_topic":
            what = "document" if kind == "uniform" else "topic"
            raise DataError(f"nsp_negatives is {kind!r}, but the corpus has only one {what}")
        if kind == "same_topic" and sizes.min() == 1:
            raise DataError("nsp_negatives is 'same_topic', but a topic of the corpus has only one document")

    def documents(self, document, keys):
        random = bits(keys, Choice.DOCUMENT)
        topic = self.topic[document]
        begin, size = self.begin[topic], self.size[topic]
        if self.kind == "same_topic":
            place = begin + below(random, size - 1)
            return self.sorted[place + (place >= self.rank[document])]            # not itself
        place = below(random, len(self.sorted) - size)
        return self.sorted[place + size * (place >= begin)]                       # not this topic
