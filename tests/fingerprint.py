"""A short name for an array's bits, to be compared in its place.

Where two long byte strings differ, pytest compares them line by line; under a CI service it does so to the end, which
takes longer than any time limit.
"""

import hashlib

import numpy as np

from minalbert.backend import to_host


def fingerprint(array):
    return hashlib.sha256(np.ascontiguousarray(to_host(array))).hexdigest()
