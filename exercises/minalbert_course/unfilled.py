"""NumPy's `empty` and `empty_like` while a student's functions run: what they return holds no number by chance.

Memory that nobody has filled holds what was there before, often zeros, or an earlier result. Whoever forgets to
fill some of it would be right by luck. Here it is filled with NaN; integers are the largest of their type, truth
values True.
"""

import contextlib
import functools
import re

import numpy as np

NAMES = ("empty", "empty_like")
NAMED = re.compile(r"\bempty(_like)?\b")             # in a file
SAYS = "what np.empty returns holds NaN in these checks until it is filled: is some of it left as it is?"


def marking(function):
    @functools.wraps(function)
    def marked(*args, **kwargs):
        array = function(*args, **kwargs)
        if array.dtype.kind in "fc":
            array.fill(np.nan)
        elif array.dtype.kind in "iu":
            array.fill(np.iinfo(array.dtype).max)
        elif array.dtype.kind == "b":
            array.fill(True)
        return array

    return marked


ORIGINAL = {name: getattr(np, name) for name in NAMES}
MARKING = {name: marking(function) for name, function in ORIGINAL.items()}


def put(functions):
    for name, function in functions.items():
        setattr(np, name, function)


@contextlib.contextmanager
def marked_memory():
    put(MARKING)
    try:
        yield
    finally:
        put(ORIGINAL)
