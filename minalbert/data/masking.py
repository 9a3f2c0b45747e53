"""Which tokens a model must guess: n-gram whole-word masking, a whole batch at a time.

The released script masks one instance in this way: shuffle its words; take one after the other and sample the number
of words of its span (n with p(n) ∝ 1 / n); shorten the span while it has more tokens than the budget still allows; skip
it if one of its words is taken; stop when the budget is spent.

The rows of a batch are independent, so this can be done to all of them at once: the k-th word of every row, then the
(k+1)-th. This file does that. Its masks have the same distribution, because it is the same algorithm with the loop over
rows inside instead of outside. A step is some fifteen NumPy calls, and a batch takes as many steps as its slowest row
has tries: some 50 for 77 predictions, for 30 rows as for 500.

Two ideas keep a step short.
  * The words are shuffled as far as they are used (Fisher and Yates): the k-th is sampled from those that remain, and
    the first of these takes its place. Most words are never looked at.
  * The text lies on one line, without [CLS] and [SEP], and each segment begins a mile after the one before. A span that
    would continue into the next segment is then a mile long, more than any budget, and is shortened like any other.
"""

from typing import NamedTuple

import numpy as np

from .random_draws import Choice, below, bits, chance, lower
from .tokenizer import MASK

MILE = 2**32                                         # more tokens than any instance has
AT_ONCE = 16                                           # words of each row between checks of which rows are done


class Words(NamedTuple):
    """The words of a batch, row after row: W words of N tokens."""

    start: np.ndarray                                # (W,) first token
    stop: np.ndarray                                 # (W,) past its last token
    lane: np.ndarray                                 # (W,) the number of its segment, in miles
    first: np.ndarray                                # (B,) first word of each row
    count: np.ndarray                                # (B,) words of each row


class Spans(NamedTuple):
    """The chosen spans, in the order of choice."""

    word: np.ndarray                                 # (K,) first word of each span
    count: np.ndarray                                # (K,) its number of words


def find_words(tokens, word_starts, lengths, cross_segments):
    """tokens: (N,), lengths: (B, 2) of the segments. A word begins at a piece that begins words and at the first token
    of a segment; if spans may cross segments, only at the first token of a row."""
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
    """The number of tokens to mask in each row. Lengths include [CLS] and [SEP]; halves round to even, as in Python."""
    least = 1 if recipe.mask_fraction else 0
    return np.clip(np.rint(lengths * recipe.mask_fraction).astype(np.int64), least, recipe.max_predictions)


def ngram_bounds(recipe):
    """A uniform number of at least bounds[n-2] means n words or more: the bounds are sums of probabilities."""
    shares = 1 / np.arange(1, recipe.max_ngram + 1)
    shares = shares if recipe.favor_shorter else shares[::-1]
    return [round(bound * 2**32) for bound in (np.cumsum(shares) / shares.sum())[:-1]]


def choose_spans(words, budget, keys, recipe):
    """Choose spans in all rows at once. budget: (B,) tokens."""
    offsets = np.arange(recipe.max_ngram)[:, None]                                # (G, 1)
    start = words.start + words.lane                                              # (W,) on the line with miles
    stop = np.append(words.stop + words.lane, [2**62] * recipe.max_ngram)
    taken = np.zeros(len(stop), bool)
    shuffled = np.arange(len(start))
    bounds = ngram_bounds(recipe)
    first, count, left = words.first, words.count, budget
    chosen = []
    rank = 0
    while first.size:
        tops, picks, lengths = next_words(keys, first, count, rank, bounds)       # (AT_ONCE, B) each
        for top, pick, n in zip(tops, picks, lengths, strict=True):
            word = shuffled[pick]                                                 # (B,)
            shuffled[pick] = shuffled[top]
            span = word + offsets                                                 # (G, B)
            size = stop[span] - start[word]                                       # (G, B) tokens of 1..G words
            n = np.minimum(n, (size <= left).sum(0))
            inside = offsets < n                                                  # (G, B)
            inside &= ~(taken[span] & inside).any(0)
            taken[span[inside]] = True               # no more than these: the next row's words are near
            left = left - (size * inside).max(0)
            chosen.append((word, inside.sum(0)))
        rank += AT_ONCE
        going = np.flatnonzero((left > 0) & (count > rank))
        first, count, left, keys = first[going], count[going], left[going], keys[going]
    word, n = (np.concatenate(column) for column in zip(*chosen, strict=True))
    return Spans(word[n > 0], n[n > 0])


def next_words(keys, first, count, rank, bounds):
    """For the next words of each row: the first that remains, the one chosen, and the words of its span."""
    ranks = rank + np.arange(AT_ONCE)[:, None]                                      # (AT_ONCE, 1)
    random = bits(keys, Choice.SPAN, ranks)                                       # (AT_ONCE, B)
    top = np.minimum(ranks, count - 1)               # a row without words left repeats its last, with n = 0
    pick = top + below(random, count - top)
    length = lower(random) >> 32
    n = 1 + sum(length >= bound for bound in bounds)
    return first + top, first + pick, np.where(ranks < count, n, 0)


def tokens_of(words, spans, size):
    """The places of all tokens in spans, in the order of the text, in 0..size-1."""
    start, stop = words.start[spans.word], words.stop[spans.word + spans.count - 1]
    edges = np.zeros(size + 1, np.int8)              # +1 where a span begins, -1 past its end; no two begin together
    edges[start] += 1
    edges[stop] -= 1
    return np.flatnonzero(np.cumsum(edges[:-1], dtype=np.int8))


def replace(labels, keys, columns, vocab_size, recipe):
    """Replacements of the masked tokens: 80 % [MASK], 10 % the token itself, 10 % any token of the vocabulary.
    labels, keys, columns: (H,), one for each masked token."""
    random = bits(keys, Choice.REPLACE, columns)
    lowest = 0 if recipe.special_replacements else MASK + 1
    other = lowest + below(bits(keys, Choice.REPLACEMENT, columns), vocab_size - lowest)
    kept = np.where(chance(random, 0.9), labels, other)
    return np.where(chance(random, 0.8), MASK, kept)
