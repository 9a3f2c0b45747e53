"""Draws as pure functions: how the coin of instance 12 of epoch 3 fell needs no history.

A generator with a state must be run up to the instance that is wanted. Here every draw has an address,
(seed, epoch, instance, what is drawn, which of them), and `bits` is a hash of it: 64 bits, the same whatever
was drawn before, in whichever batch, worker or run. Each (instance, what) is one SplitMix64 generator
(Steele, Lea, Flood, 2014), whose n-th number needs no other: it is the mixed-up value of start + n * GOLDEN.
"""

from enum import IntEnum

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15                          # 2⁶⁴ divided by the golden ratio, odd
WORD = 2**64 - 1


class Draw(IntEnum):
    """What is drawn. The numbers are part of what a seed means: add at the end, never renumber."""

    ORDER = 1                                        # of the instances in an epoch
    DIRECTION = 2                                    # is a document cut into chunks from its front or its back
    SHORT = 3                                        # is this a short one, and how short
    SPLIT = 4                                        # where the first segment ends
    SWAP = 5
    NEGATIVE = 6                                     # is the second segment to come from elsewhere
    DOCUMENT = 7                                     # from which document
    SENTENCE = 8                                     # from which of its sentences on
    TRIM = 9                                         # how much of a truncation falls on the front
    SPAN = 10                                        # which word is next, and how many words
    REPLACE = 11                                     # [MASK], the same, or another
    REPLACEMENT = 12                                 # which other


def mix(x):
    """x: uint64 array. Every bit of it changes about half of the result's."""
    x = x ^ (x >> 30)
    x *= 0xBF58476D1CE4E5B9
    x ^= x >> 27
    x *= 0x94D049BB133111EB
    x ^= x >> 31
    return x


def keys(seed, epoch, numbers):
    """One key an instance: (B,) uint64."""
    numbers = np.atleast_1d(numbers).astype(np.uint64)
    run = mix(np.array([(seed + GOLDEN) & WORD], np.uint64))
    run = mix(run + (epoch + 1) * GOLDEN % 2**64)
    return mix(run + (numbers + 1) * GOLDEN)


def bits(keys, draw, index=0):
    """64 bits for each key, and for each index: the two are broadcast against each other."""
    start = mix(keys ^ (int(draw) * 0xD1342543DE82EF95 % 2**64))
    return mix(start + (np.atleast_1d(index).astype(np.uint64) + 1) * GOLDEN)


def below(bits, ends):
    """From the upper 32 bits, a whole number in 0..end-1, for ends up to 2³²."""
    return ((bits >> 32) * np.asarray(ends).astype(np.uint64) >> 32).astype(np.int64)


def lower(bits):
    """The lower 32 bits in the upper ones' place: a second draw from the same 64."""
    return bits << 32


def chance(bits, probability):
    return (bits >> 32) < round(probability * 2**32)
