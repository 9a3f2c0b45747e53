"""The calls of a check once more, with arrays of float32 and int32: no function may write into them, either.

`np.asarray(x, np.float32)` is a new array where x is of float64, and x itself where it is of float32.
"""

import numpy as np

from ..compare import Wrong
from ..shared_memory import MEMORY_OF
from ..values import mapped
from ..yours import cause_of
from .memory_orders import once_more, those_with


def in_single_precision(lesson, host, calls):
    """Raise Wrong where a function writes into what it is given."""
    asked = those_with(np.ndarray, [calls])
    changed = [call._replace(args=mapped(single, call.args)) for call in asked]
    once_more(lesson, host, asked, changed, lesson.functions, judge)


def single(array):
    """As float32 or int32, if it has floats or whole numbers"""
    with np.errstate(over="ignore"):                 # what float32 makes of a number matters to nobody here
        return array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def judge(lesson, call, answer):
    for what in [] if isinstance(answer, Exception) else answer[1]:
        lent = what.startswith(MEMORY_OF)
        if not lent or call.name in lesson.own_results:
            does = "returned" if lent else "wrote into"
            raise Wrong(f"given arrays of 32 bits, {call.name} {does} {what}", cause_of(what), call.name)
