"""A batch cut into slices, one for a worker at a time, and a slice into parts of like length.

Examples differ in length, and an array is as long as its longest. What stands at the padding is computed for nothing:
its keys have probability 0, and no loss reads it. So the examples are sorted by length, the longest first, and cut;
each part is trimmed to its own longest. That is exact, and half the work where half of a batch is padding.

    examples     ████████████      slice 0, part 0: 2 examples of 12 tokens
                 ███████████·
                 ███████·····                part 1: 2 examples of 7
                 ██████······

How a batch is cut depends on the batch alone, never on who computes it: the same batch gives the same bits. A GPU
shares a batch out itself, so it gets one part, and one that it has already is left as it is: to read its lengths would
be to wait for it.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..backend import array_module, device_of

WORTH_TWO = 512                                      # tokens in a batch for two slices: with fewer, Python's own work,
                                                     # which is one thread's at a time, is too much of the whole
WORTH_TWO_PRODUCTS = 2**26                           # or multiplications in its H x H product
WORTH_MORE = 1024                                    # tokens in each of more than two slices
SLICES = 8                                           # at most, for each needs a gradient of its own
WORTH_A_PART = 64                                    # tokens that must be saved: what calling all functions once costs
LARGEST_PART = 2**18                                 # numbers in a layer's input, unless one example has more: a pass
                                                     # needs no more memory for a larger batch


class Trimmed(NamedTuple):
    batch: Any                                       # a Batch or Inputs, as long as its longest example
    examples: Any                                    # which of the whole batch they are
    first: int                                       # the number of the first, sorted: the part's in a DropoutKey


def cut(batch, hidden_size, cuda=False):
    """Slices with about the same number of tokens, each a list of parts."""
    if device_of(batch.input_ids) == "cuda":
        return [[Trimmed(batch, slice(None), 0)]]
    lengths = lengths_of(batch)
    order = by_length(lengths)
    ends = slice_ends(lengths[order], 1 if cuda else slice_count(int(lengths.sum()), len(lengths), hidden_size))
    return [parts(batch, order[first:end], lengths, hidden_size, first, cuda) for first, end in pairwise([0, *ends])]


def examples_together(count, length, hidden_size):
    """The most examples that a part has, of a batch of `count` examples of this length."""
    most = -(-count // slice_count(count * length, count, hidden_size))
    while most > 1 and most * length > LARGEST_PART // hidden_size:
        most -= most // 2
    return most


def cut_each(batches, hidden_size, cuda=False):
    """Batches that are slices already, each a list of parts."""
    slices, first = [], 0
    for batch in batches:
        lengths = lengths_of(batch)
        slices.append(parts(batch, by_length(lengths), lengths, hidden_size, first, cuda))
        first += len(lengths)
    return slices


def parts(batch, examples, lengths, hidden_size, first=0, cuda=False):
    """Examples, the longest first, as parts; `first` is the number of the first of them."""
    ends = [len(examples)] if cuda else part_ends(lengths[examples], LARGEST_PART // hidden_size)
    return [
        Trimmed(trimmed(batch, examples[i:j], int(lengths[examples[i]])), examples[i:j], first + i)
        for i, j in pairwise([0, *ends])
    ]


def lengths_of(batch):
    """The places of each example up to its last token or used prediction; all, if it has no token. (B,)"""
    mask, xp = batch.attention_mask, array_module(batch.attention_mask)
    last = (mask * xp.arange(1, mask.shape[1] + 1)).max(axis=1)
    lengths = xp.where(last == 0, mask.shape[1], last)
    if hasattr(batch, "mlm_weights"):
        used = (batch.mlm_positions + 1) * (batch.mlm_weights > 0)
        lengths = xp.maximum(lengths, used.max(axis=1, initial=0))
    return lengths


def by_length(lengths):
    """The examples' order: the longest first, and as they came where they are equally long."""
    return np.argsort(-lengths, kind="stable")


def slice_count(tokens, examples, hidden_size):
    """1, 2, 4 or 8"""
    two = tokens >= WORTH_TWO or tokens * hidden_size**2 >= WORTH_TWO_PRODUCTS
    worth = max(tokens // WORTH_MORE, 2 if two else 1)
    return 2 ** (min(worth, SLICES, examples).bit_length() - 1)


def slice_ends(lengths, count):
    """Where slices of falling lengths end: about the same number of tokens in each, and at least one example."""
    tokens, ends = np.cumsum(lengths), [0]
    for number in range(1, count + 1):
        end = 1 + int(np.searchsorted(tokens, tokens[-1] * number / count))
        ends.append(min(max(end, ends[-1] + 1), len(lengths) - count + number))
    return ends[1:]


def part_ends(lengths, tokens, first=0):
    """Where parts of falling lengths end: cut where it saves most tokens, again and again, as long as it is worth it.

    tokens: what a part may have, if it is more than one example; larger ones are cut in the middle
    """
    saved = (lengths[0] - lengths) * np.arange(len(lengths), 0, -1)     # by a cut before each example
    best = int(saved.argmax())
    if saved[best] < WORTH_A_PART:
        if len(lengths) == 1 or lengths[0] * len(lengths) <= tokens:
            return [first + len(lengths)]
        best = len(lengths) // 2
    return part_ends(lengths[:best], tokens, first) + part_ends(lengths[best:], tokens, first + best)


def trimmed(batch, examples, length):
    """These examples, without the places from `length` on, and without the last slots if no example uses them."""
    inputs = (array[examples, :length] for array in batch[:3])
    if not hasattr(batch, "mlm_weights"):
        return type(batch)(*inputs)
    used = batch.mlm_weights[examples] > 0
    slots = 1 + max(used.any(axis=0).nonzero()[0], default=0)
    positions, labels, weights = (array[examples, :slots] for array in batch[3:6])
    positions = positions * used[:, :slots]                          # an unused slot's place may be cut off
    return type(batch)(*inputs, positions, labels, weights, batch.sop_labels[examples])
