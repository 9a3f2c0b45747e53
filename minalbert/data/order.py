"""The order of an epoch as a keyed permutation, of which any place is computed in O(1). No list is needed.

A Feistel network maps a number of 2h bits to another: it halves it into (left, right) and repeats
(left, right) -> (right, left ^ hash(right)). Each round can be undone, whatever the hash is, so the whole is a
permutation of 0..4^h-1. If a result is outside 0..count-1, the permutation is applied again. It moves along a cycle
that began inside, which therefore comes back inside, so that the result is a permutation of 0..count-1. Because
4^h < 4 count, this takes fewer than four steps on average.

The state of a run in its data is then one whole number, the batches so far. Resuming counts on from it.
"""

from itertools import count as counting
from itertools import groupby, islice

import numpy as np

from ..arguments import like, of_kind, whole
from ..errors import InputError
from .random_draws import Choice, bits, keys, mix

ROUNDS = 4


def instances_at(positions, count, seed, epoch):
    """The instance numbers at these positions (whole numbers in 0..count-1) of an epoch's order."""
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    rounds = bits(keys(seed, epoch, 0), Choice.ORDER, np.arange(ROUNDS))
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
    return numbered(instances, size, counting(whole("first", first)))


def batches(instances, size, count, first=0, share=slice(None)):
    """Batches without end, from number `first` on: each a list of `count` micro-batches, or of a share of them."""
    count, first = whole("count", count, 1), whole("first", first)
    of_kind("share", share, slice)
    own = range(count)[share]
    slices = numbered(instances, size, (count * batch + number for batch in counting(first) for number in own))
    while True:
        yield list(islice(slices, len(own)))


def numbered(instances, size, numbers):
    """Micro-batches of these numbers, counted through all epochs."""
    size = whole("size", size, 1)
    in_epoch = len(like("instances", instances, "Instances", "micro_batches")) // size
    if not in_epoch:
        raise InputError(f"size is {size}; there are only {len(instances)} instances")
    for epoch, group in groupby(numbers, lambda number: number // in_epoch):
        yield from instances.micro_batches(size, epoch, (number % in_epoch for number in group))
