"""Random numbers as pure functions: a choice for instance 12 of epoch 3 depends on no earlier one.

A generator with a state must be run up to the instance that is wanted. Here every random number has an address,
(seed, epoch, instance, choice, index), and `bits` is a hash of it: 64 bits that depend on nothing else, neither the
batch nor the worker nor the run. Each (instance, choice) is one SplitMix64 generator (Steele, Lea, Flood, 2014), whose
n-th number can be computed alone: it is the mixed value of start + n * GOLDEN.
"""

from enum import IntEnum

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15                          # 2⁶⁴ divided by the golden ratio, odd
WORD = 2**64 - 1


class Choice(IntEnum):
    """The random choices. A seed's meaning depends on the numbers: add at the end, never renumber."""

    ORDER = 1                                        # of the instances in an epoch
    DIRECTION = 2                                    # is a document cut into chunks from its front or from its back
    SHORT = 3                                        # is the instance short, and how short
    SPLIT = 4                                        # which sentence is the first segment's last
    SWAP = 5
    NEGATIVE = 6                                     # is the second segment from another document
    DOCUMENT = 7                                     # from which document
    SENTENCE = 8                                     # from which of its sentences on
    TRIM = 9                                         # how much is truncated at the front
    SPAN = 10                                        # which word is next, and how many words
    REPLACE = 11                                     # [MASK], the same, or another
    REPLACEMENT = 12                                 # which other
    HELD_OUT = 13                                    # which document of a stretch


def mix(x):
    """Hash a uint64 array: every bit of x changes about half of the result's bits."""
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


def bits(keys, choice, index=0):
    """64 random bits for each key and index, which are broadcast against each other."""
    start = mix(keys ^ (int(choice) * 0xD1342543DE82EF95 % 2**64))
    return mix(start + (np.atleast_1d(index).astype(np.uint64) + 1) * GOLDEN)


def below(bits, ends):
    """A whole number in 0..end-1, from the upper 32 bits, for ends up to 2³²."""
    return ((bits >> 32) * np.asarray(ends).astype(np.uint64) >> 32).astype(np.int64)


def lower(bits):
    """Move the lower 32 bits to the upper ones' place, for a second number from the same 64 bits."""
    return bits << 32


def chance(bits, probability):
    """True with this probability, from the upper 32 bits."""
    return (bits >> 32) < round(probability * 2**32)
