"""Instances: an epoch is a list of numbers, and each instance is made when it is needed.

Row i of a batch is a function of (seed, epoch, numbers[i]) and of nothing else: not of the other rows, nor of what was
made before, nor of the worker that makes it. Workers need no lists, a restart needs no history, and a single row can be
made again: `detail(epoch, number)`.

    chunks    which sentences                        once, when opened
    pairs     which two segments, in which order     ranges of tokens
    masking   which words, and what replaces them    places in the text
    this file arrays
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from ..arguments import like, of_kind, refusal
from ..batch import Batch
from ..capacity import check_memory
from ..errors import DataError
from .chunk_files import chunk_files
from .chunks import build_table
from .masking import budgets, choose_spans, find_words, replace, tokens_of
from .order import instances_at
from .pairs import SegmentPairs
from .random_draws import keys
from .recipe import Recipe, whole_number
from .texts import Texts
from .tokenizer import CLS, MASK, SEP

ROWS_AT_ONCE = 512                                   # made together, whatever the batch's size: fewer NumPy calls
BYTES = 24                                           # of a token, while a batch is made


class Segment(NamedTuple):
    document: int                                    # numbered through all shards
    shard: int
    start: int                                       # token of the shard
    stop: int


class Span(NamedTuple):
    positions: tuple[int, ...]                       # in the instance
    words: int


class Detail(NamedTuple):
    """One instance, and how it was made."""

    epoch: int
    number: int
    sentences: tuple[int, int]                       # of the shard: the chunk's first, and past its last
    segments: tuple[Segment, ...]                    # in the order in which they are read
    label: int                                       # SOP: 1 swapped; NSP: 1 not the next
    original_ids: np.ndarray                         # (n,) without padding
    input_ids: np.ndarray                            # (n,) what the model reads
    token_type_ids: np.ndarray                       # (n,)
    spans: tuple[Span, ...]                          # in the order of the text


class _Made(NamedTuple):
    """A batch, and what it was made from: N tokens of text."""

    batch: Batch
    segments: NamedTuple                             # pairs.Segments
    tokens: np.ndarray                               # (N,) as they were
    place: np.ndarray                                # (N,) the place of each in input_ids, rows laid end to end
    words: NamedTuple                                # masking.Words
    spans: NamedTuple                                # masking.Spans


class Instances:
    """The training instances of a corpus, made by a recipe."""

    def __init__(self, corpus, tokenizer, recipe=Recipe(), seed=0):
        like("corpus", corpus, "a Corpus", "shards", "vocab_size", "tokenizer_digest", error=DataError)
        like("tokenizer", tokenizer, "a tokenizer", "digest", "word_starts", error=DataError)
        of_kind("recipe", recipe, Recipe, DataError)
        if tokenizer.digest != corpus.tokenizer_digest:
            raise DataError(
                f"the tokenizer (digest {tokenizer.digest[:12]}) is not the one this corpus was made with "
                f"(digest {corpus.tokenizer_digest[:12]})"
            )
        if len(tokenizer.word_starts) != corpus.vocab_size:
            raise DataError(
                f"the tokenizer says of {len(tokenizer.word_starts)} pieces whether they begin a word, "
                f"but the corpus has a vocabulary of {corpus.vocab_size}"
            )
        if corpus.vocab_size <= MASK + 1:
            raise DataError(f"the vocabulary has {corpus.vocab_size} pieces; {MASK + 1} of them are control tokens")
        self.recipe, self.seed, self.vocab_size = recipe, whole_number("seed", seed), corpus.vocab_size
        self.word_starts = np.asarray(tokenizer.word_starts, bool)
        self.texts = Texts(corpus.shards)
        self.table = build_table(self.texts, recipe, self.seed, chunk_files(corpus, recipe, self.seed))
        self.pairs = SegmentPairs(self.texts, self.table, recipe)

    def __len__(self):
        return len(self.table)

    def batch(self, epoch, numbers):
        """The batch of the instances with these numbers, one in each row."""
        return self._make(epoch, numbers).batch

    def batches(self, size, epoch=0, start=0):
        """The batches of an epoch in its order, from batch number `start` on. The last may be smaller."""
        size, epoch, start = whole_number("size", size, 1, 2**31), whole_epoch(epoch), whole_number("start", start)
        stride = max(1, ROWS_AT_ONCE // size) * size
        for first in range(start * size, len(self), stride):
            positions = np.arange(first, min(first + stride, len(self)))
            block = self.batch(epoch, instances_at(positions, len(self), self.seed, epoch))
            for row in range(0, len(positions), size):
                yield Batch(*(array[row : row + size] for array in block))

    def micro_batches(self, size, epoch, numbers):
        """The batches of these numbers in an epoch's order. numbers: an iterator"""
        while some := list(islice(numbers, max(1, ROWS_AT_ONCE // size))):
            positions = np.concatenate([np.arange(size * number, size * (number + 1)) for number in some])
            block = self.batch(epoch, instances_at(positions, len(self), self.seed, epoch))
            for row in range(0, len(positions), size):
                yield Batch(*(array[row : row + size] for array in block))

    def detail(self, epoch, number):
        """Make one instance again, and say all about it."""
        number = whole_number("number", number)
        made = self._make(epoch, [number])
        batch, words, (span_words, counts) = made.batch, made.words, made.spans
        chunk = self.table.rows(np.array([number]))
        length = int(batch.attention_mask.sum())
        original = batch.input_ids[0].copy()
        original[made.place] = made.tokens
        order = np.argsort(span_words)
        stop = words.stop[span_words + counts - 1]
        return Detail(
            epoch=epoch,
            number=number,
            sentences=(int(chunk.first[0]), int(chunk.last[0])),
            segments=tuple(
                Segment(*(int(column[0, side]) for column in made.segments[:4])) for side in range(self.recipe.segments)
            ),
            label=int(batch.sop_labels[0]),
            original_ids=original[:length],
            input_ids=batch.input_ids[0, :length],
            token_type_ids=batch.token_type_ids[0, :length],
            spans=tuple(
                Span(tuple(made.place[words.start[span_words[i]] : stop[i]].tolist()), int(counts[i])) for i in order
            ),
        )

    def _make(self, epoch, numbers):
        numbers, epoch = self._checked(numbers), whole_epoch(epoch)
        recipe = self.recipe
        check_memory(f"{len(numbers):,} instances of {recipe.max_length:,} tokens",
                     BYTES * len(numbers) * recipe.max_length, DataError)
        mask_epoch = epoch % recipe.static_masks if recipe.static_masks else epoch
        row_keys = keys(self.seed, mask_epoch, numbers)                          # (B,)
        segments = self.pairs.choose(numbers, row_keys)
        tokens = self.texts.read(segments.shard.ravel(), segments.start.ravel(), segments.stop.ravel())
        ids, mask, types, place = lay_out(tokens, segments.lengths, recipe)

        words = find_words(tokens, self.word_starts, segments.lengths, recipe.spans_cross_segments)
        spans = choose_spans(words, budgets(mask.sum(1), recipe), row_keys, recipe)
        hidden = tokens_of(words, spans, len(tokens))                             # (H,)
        row, column = np.divmod(place[hidden], recipe.max_length)
        labels = tokens[hidden].astype(np.int32)
        ids[row, column] = replace(labels, row_keys[row], column, self.vocab_size, recipe)
        predictions = slots(row, column, labels, len(ids), recipe.max_predictions)
        batch = Batch(ids, mask, types, *predictions, segments.labels.astype(np.int32))
        return _Made(batch, segments, tokens, place, words, spans)

    def _checked(self, given):
        try:
            numbers = np.asarray(given)
        except ValueError:                           # lists of several lengths
            numbers = np.zeros(0)
        if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
            raise refusal("numbers", given, "a list of whole numbers, at least one", DataError)
        outside = (numbers < 0) | (numbers >= len(self))
        if outside.any():
            raise DataError(f"there is no instance {int(numbers[outside][0])}; an epoch has 0..{len(self) - 1}")
        return numbers.astype(np.int64)


def whole_epoch(epoch):
    return whole_number("epoch", epoch, 0, 2**62)


def lay_out(tokens, lengths, recipe):
    """[CLS] first [SEP] second [SEP]: tokens (N,) and lengths (B, 2) -> ids, mask, types (B, T) and the place of
    each token in ids, rows laid end to end."""
    T, sides = recipe.max_length, recipe.segments
    rows = np.arange(len(lengths))
    first_sep = 1 + lengths[:, 0]
    last_sep = first_sep + (sides - 1) * (1 + lengths[:, 1])
    begins = T * rows[:, None] + np.stack([np.ones_like(first_sep), first_sep + 1], 1)       # (B, 2)
    ends = np.cumsum(lengths).reshape(lengths.shape)
    place = np.arange(len(tokens)) + np.repeat((begins - (ends - lengths)).ravel(), lengths.ravel())

    ids = np.zeros((len(rows), T), np.int32)
    ids.reshape(-1)[place] = tokens
    ids[:, 0], ids[rows, first_sep], ids[rows, last_sep] = CLS, SEP, SEP
    column = np.arange(T)
    mask = column <= last_sep[:, None]
    types = mask & (column > first_sep[:, None])
    return ids, mask.astype(np.int32), types.astype(np.int32), place


def slots(row, column, labels, rows, width):
    """Masked tokens, sorted by row, into (rows, width) arrays: positions, labels, weights."""
    counts = np.bincount(row, minlength=rows)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions, ids, weights = (np.zeros((rows, width), kind) for kind in (np.int32, np.int32, np.float32))
    positions[row, slot], ids[row, slot], weights[row, slot] = column, labels, 1.0
    return positions, ids, weights
