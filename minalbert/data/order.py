"""The order of an epoch without a list of it: a keyed permutation, computed at any place in O(1).

A Feistel network turns a number of 2h bits into another: it halves it into (left, right) and repeats
(left, right) -> (right, left ^ hash(right)). Each round can be undone, whatever the hash, so the whole is a
permutation of 0..4^h-1. Where it leads out of 0..count-1 it is applied again: walking along a cycle that
began inside must come back inside, and the next place inside is the result, so that what remains is a
permutation of 0..count-1. 4^h < 4 count, hence a walk takes fewer than four steps on average.

What has been trained on is then one whole number, the batches so far; to resume is to count on from it.
"""

from itertools import count as numbers
from itertools import islice

import numpy as np

from .random_draws import Draw, bits, keys, mix

ROUNDS = 4


def instances_at(positions, count, seed, epoch):
    """positions: whole numbers in 0..count-1. The instance numbers that stand there in this epoch."""
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    rounds = bits(keys(seed, epoch, 0), Draw.ORDER, np.arange(ROUNDS))
    numbers = np.array(positions, np.uint64)
    outside = np.arange(numbers.size)
    while outside.size:
        numbers[outside] = _feistel(numbers[outside], half, rounds)
        outside = outside[numbers[outside] >= count]
    return numbers.astype(np.int64)


def _feistel(x, half, rounds):
    mask = 2**half - 1
    left, right = x >> half, x & mask
    for key in rounds:
        left, right = right, left ^ (mix(right ^ key) & mask)
    return (left << half) | right


def micro_batches(instances, size, first=0):
    """Micro-batches without end, from number `first` on. The last instances of an epoch, if too few, are left out."""
    in_epoch = len(instances) // size
    begin, first = divmod(first, in_epoch)
    for epoch in numbers(begin):
        yield from islice(instances.batches(size, epoch, first), in_epoch - first)
        first = 0


def batches(instances, size, count, first=0):
    """Batches without end, from number `first` on: each a list of `count` micro-batches."""
    slices = micro_batches(instances, size, first * count)
    while True:
        yield list(islice(slices, count))
