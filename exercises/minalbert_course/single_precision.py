"""The calls of a check once more, with arrays of float32: no function may write into them, either.

`np.asarray(x, np.float32)` is a new array where x is of float64, and x itself where it is of float32.
"""

import numpy as np

from .compare import Wrong
from .here import MEMORY_OF
from .memory_orders import once_more, those_with
from .yours import IN_PLACE, LENT


def in_single_precision(lesson, host, calls):
    """Raise Wrong where a function writes into what it is given."""
    asked = those_with(np.ndarray, [calls])
    once_more(lesson, host, asked, [call._replace(args=single(call.args)) for call in asked], lesson.functions, judge)


def single(value):
    """Each array of floats in it as one of float32"""
    if isinstance(value, np.ndarray):
        with np.errstate(over="ignore"):             # what float32 makes of a number matters to nobody here
            return value.astype(np.float32) if value.dtype.kind == "f" else value
    if isinstance(value, dict):
        return {key: single(part) for key, part in value.items()}
    return type(value)(map(single, value)) if type(value) in (tuple, list) else value


def judge(lesson, call, answer):
    for what in [] if isinstance(answer, Exception) else answer[1]:
        lent = what.startswith(MEMORY_OF)
        if not lent or call.name in lesson.own_results:
            does = "returned" if lent else "wrote into"
            raise Wrong(f"given arrays of float32, {call.name} {does} {what}", LENT if lent else IN_PLACE, call.name)
