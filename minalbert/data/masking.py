"""Which tokens a model must guess: n-gram whole-word masking, a whole batch at a time.

The released script masks one instance like this. Shuffle its words. Take one after the other, draw how many
words its span shall have (n with p(n) ∝ 1 / n), shorten the span while it has more tokens than the budget still
allows, skip it where one of its words is taken, and go on until the budget is spent.

Rows of a batch know nothing of each other, so this can be done to all of them in step: the k-th word of every
row, then the (k+1)-th. That is this file, and why its masks have the very same distribution: it is the same
algorithm, with the loop over rows inside instead of outside. A step is some fifteen NumPy calls, and a batch
takes as many steps as its slowest row has tries: some 50 for 77 predictions, whether it has 30 rows or 500.

Two things keep a step small.
  * The shuffle is dealt, not made beforehand (Fisher and Yates): the k-th card is drawn from those that remain,
    and the first of these takes its place. Most cards are never looked at.
  * Text lies on one line, [CLS] and [SEP] left out, and each segment a mile from the one before. A span that
    would run on into the next segment is then a mile long, which no budget allows: it is shortened like any other.
"""

from typing import NamedTuple

import numpy as np

from .random_draws import Draw, below, bits, chance, lower
from .tokenizer import MASK

MILE = 2**32                                         # more tokens than any instance has
DEALT = 16                                           # words of each row between looks at which rows are done


class Words(NamedTuple):
    """The words of a batch, row after row. W words in all, of N tokens."""

    start: np.ndarray                                # (W,) first token
    stop: np.ndarray                                 # (W,) past its last token
    lane: np.ndarray                                 # (W,) the number of its segment, in miles
    first: np.ndarray                                # (B,) first word of each row
    count: np.ndarray                                # (B,) words of each row


class Spans(NamedTuple):
    """What was chosen, in the order of choosing."""

    word: np.ndarray                                 # (K,) first word of each span
    count: np.ndarray                                # (K,) its number of words


def find_words(tokens, word_starts, lengths, cross_segments):
    """tokens: (N,), lengths: (B, 2) of the segments. A word begins where a piece says so, and at the first token of
    a segment; where spans may cross segments, at the first of a row only."""
    barriers = lengths.sum(1) if cross_segments else lengths.ravel()
    ends = np.cumsum(barriers)
    begins = word_starts[tokens]                                                  # (N,)
    begins[(ends - barriers)[barriers > 0]] = True
    start = np.flatnonzero(begins)                                                # (W,)
    before = np.concatenate([[0], np.searchsorted(start, ends)])                  # words before each barrier
    lane = np.repeat(np.arange(len(ends)) * MILE, np.diff(before))
    row = before if cross_segments else before[::2]
    return Words(start, np.append(start[1:], len(tokens)), lane, row[:-1], np.diff(row))


def budgets(lengths, recipe):
    """How many tokens to mask of each row; lengths count [CLS] and [SEP]. Halves round to even, as in Python."""
    least = 1 if recipe.mask_fraction else 0
    return np.clip(np.rint(lengths * recipe.mask_fraction).astype(np.int64), least, recipe.max_predictions)


def ngram_bounds(recipe):
    """n words are drawn where a uniform draw is at least bounds[n-2]: the sums of the shares of fewer words."""
    shares = 1 / np.arange(1, recipe.max_ngram + 1)
    shares = shares if recipe.favor_shorter else shares[::-1]
    return [round(bound * 2**32) for bound in (np.cumsum(shares) / shares.sum())[:-1]]


def choose_spans(words, budget, keys, recipe):
    """Greedy choice in step. budget: (B,) tokens."""
    ahead = np.arange(recipe.max_ngram)[:, None]                                  # (G, 1)
    start = words.start + words.lane                                              # (W,) on the line with miles
    stop = np.append(words.stop + words.lane, [2**62] * recipe.max_ngram)
    taken = np.zeros(len(stop), bool)
    deck = np.arange(len(start))
    bounds = ngram_bounds(recipe)
    first, count, left = words.first, words.count, budget
    chosen = []
    rank = 0
    while first.size:
        tops, picks, drawn = deal(keys, first, count, rank, bounds)               # (DEALT, B) each
        for top, pick, n in zip(tops, picks, drawn, strict=True):
            word = deck[pick]                                                     # (B,)
            deck[pick] = deck[top]
            span = word + ahead                                                   # (G, B)
            size = stop[span] - start[word]                                       # (G, B) tokens of 1..G words
            n = np.minimum(n, (size <= left).sum(0))
            inside = ahead < n                                                    # (G, B)
            inside &= ~(taken[span] & inside).any(0)
            taken[span[inside]] = True               # no more than these: the next row's words are near
            left = left - (size * inside).max(0)
            chosen.append((word, inside.sum(0)))
        rank += DEALT
        going = np.flatnonzero((left > 0) & (count > rank))
        first, count, left, keys = first[going], count[going], left[going], keys[going]
    word, n = (np.concatenate(column) for column in zip(*chosen, strict=True))
    return Spans(word[n > 0], n[n > 0])


def deal(keys, first, count, rank, bounds):
    """For the next words of each row: the first card of those that remain, the one drawn, and how long a span."""
    ranks = rank + np.arange(DEALT)[:, None]                                      # (DEALT, 1)
    draws = bits(keys, Draw.SPAN, ranks)                                          # (DEALT, B)
    top = np.minimum(ranks, count - 1)               # a row with no cards left goes on with its last, and n = 0
    pick = top + below(draws, count - top)
    length = lower(draws) >> 32
    n = 1 + sum(length >= bound for bound in bounds)
    return first + top, first + pick, np.where(ranks < count, n, 0)


def tokens_of(words, spans, size):
    """The tokens of all spans, in the order of the text: places in 0..size-1."""
    start, stop = words.start[spans.word], words.stop[spans.word + spans.count - 1]
    edges = np.zeros(size + 1, np.int8)              # +1 where a span begins, -1 past its end; no two begin together
    edges[start] += 1
    edges[stop] -= 1
    return np.flatnonzero(np.cumsum(edges[:-1], dtype=np.int8))


def replace(labels, keys, columns, vocab_size, recipe):
    """What stands in the masked tokens' places: 80 % [MASK], 10 % the token itself, 10 % any token of the vocabulary.
    labels, keys, columns: (H,), one a masked token."""
    draws = bits(keys, Draw.REPLACE, columns)
    lowest = 0 if recipe.special_replacements else MASK + 1
    other = lowest + below(bits(keys, Draw.REPLACEMENT, columns), vocab_size - lowest)
    kept = np.where(chance(draws, 0.9), labels, other)
    return np.where(chance(draws, 0.8), MASK, kept)
