"""Ids beyond 16 bits, for files that speak of integers of 16 bits.

Other files are not asked: np.eye(V)[ids], which is right, would make an array of V² numbers.
"""

import re
from contextlib import contextmanager

from .files import mentions
from .values import Stopped

NARROW = re.compile(r"\b(u?int16|u?short|[iu]2)\b")
ROWS = 2**16 + 400                                   # of a table; the number of the last one needs 17 bits
CAUSE = "perhaps: ids are made integers of 16 bits, which end at 32767 or 65535; a table may have more rows"


def has_narrow_integers(path):
    """Does the text of a Python file or of a notebook name a dtype of integers of 16 bits?"""
    return mentions(path, NARROW)


@contextmanager
def where_memory_allows():
    """A call that needs too much memory says nothing here."""
    try:
        yield
    except Stopped as error:
        if "MemoryError" not in str(error):
            raise
