"""Rows whose numbers need more than 16 bits; see `narrow`."""

import numpy as np

from ..compare import same
from ..narrow import CAUSE, ROWS, where_memory_allows
from .corners import guessing

RUNNING_SUM = "perhaps: differences of a running sum are taken, in which small numbers are lost"


def beyond_16_bits(name, answer, right):
    """Raise Wrong where answer() is not right. It is only for files that have integers of 16 bits."""
    with where_memory_allows(), guessing(CAUSE, np.inf):
        same(name, answer(), right)


def last_rows(draw, *shape):
    """Ids of some of the last rows"""
    return ROWS - 1 - draw.integers(0, 300, *shape)
