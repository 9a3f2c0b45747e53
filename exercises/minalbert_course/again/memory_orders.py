"""The calls of a check once more, with arrays that lie in memory in other ways: each function must answer as before.

An array's numbers need not lie there row by row, one after the other: those of a transposed matrix lie column by
column, those of every second column with gaps between them, and of three axes two may be interchanged. Whoever takes
the order in memory for the order of the axes (ravel("K"), order="A", a view of what `empty_like` made) then answers
differently. In a lesson's last check these arrays cannot be written into: whoever changes one for a moment, and puts
back what was there, is stopped.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..alike import alike, largest
from ..calls import repeatable
from ..compare import Wrong
from ..given import Given
from ..values import Opaque, mapped, parts
from ..yours import IN_PLACE
from .answers import by_name, first_difference
from .interleaving import steps_of

COLUMNS, GAPS, INTERCHANGED = "column by column", "with gaps", "with two axes interchanged"
ORDERS = (COLUMNS,), (INTERCHANGED, GAPS), (GAPS, INTERCHANGED), (COLUMNS, GAPS)
WAYS = f"{COLUMNS}, {GAPS} or {INTERCHANGED}"
CAUSE = (
    "the order in memory is taken for the order of the axes: order='A' or 'K', .data, or a reshape or ravel that is "
    "written into and may be a copy; zeros_like and empty_like keep the order, too"
)
ROUNDED = "perhaps: numbers are rounded to two or three digits, as in float16: then the order of a sum is seen"
COARSE = 1e-2
CLOSE = 1e-4                                         # relative; sums are taken in another order, perhaps in float32
MOST = 8                                             # calls of each draw that are made again, in each way


def in_other_orders(lesson, host, made, functions, may_write):
    """Raise Wrong where a call of one of these functions is answered differently. made: the calls of each draw

    may_write: functions that get arrays that can be written into
    """
    asked = those_with(np.ndarray, made) if functions else []
    for order in ORDERS if asked else ():            # a round each: arrays get these in turn, backward's in reverse
        forward, backward = itertools.cycle(order), itertools.cycle(order[::-1])
        ways = [backward if call.name.endswith("_backward") else forward for call in asked]
        changed = [laid_out(call, Laying(way, call.name in may_write)) for call, way in zip(asked, ways, strict=True)]
        once_more(lesson, host, asked, changed, functions, judge)


def those_with(kind, made):
    """The calls, a few of each draw, with something of this kind among their arguments, or a cache

    Those with float16 are left out, of which a sum in another order is another number.
    """
    return [call for calls in made for call in repeatable(calls)[:MOST]
            if holds((call.args, tuple(call.static.values())), kind | Opaque) and not is_half(call.args)]  # fmt: skip


def holds(value, kind):
    return isinstance(value, kind) or any(holds(part, kind) for part in parts(value))


def is_half(value):
    """Is there an array of float16 in it?"""
    return value.dtype == np.float16 if isinstance(value, np.ndarray) else any(map(is_half, parts(value)))


def once_more(lesson, host, asked, changed, functions, judge):
    """Ask the changed calls, and judge each answer. Raise what judge raises, if the call is of one of these functions.

    asked, changed: the calls as they were, and as they are now   judge(lesson, call, answer): raises Wrong, or does not
    """
    for call, answer in zip(asked, host.in_turn(steps_of(lesson, changed)), strict=True):
        try:
            judge(lesson, call, answer)
        except Wrong:
            if call.name in functions:
                raise
            break                                    # what comes after needs its answer


class Laying(NamedTuple):
    ways: Iterator
    writeable: bool


def laid_out(call, laying):
    """The call with each array as one that lies in memory in the next of the ways"""

    def laid(array):
        return Given.of("array", array, next(laying.ways), laying.writeable) if array.ndim else array

    return call._replace(args=mapped(laid, call.args), static=mapped(laid, call.static))


def judge(lesson, call, answer):
    if isinstance(answer, Exception):
        if "read-only" in str(answer):
            raise Wrong(f"given arrays that cannot be written into, {answer}", IN_PLACE, call.name) from answer
        raise Wrong(f"given arrays that lie in memory {WAYS}, {answer}", CAUSE, call.name) from answer
    size = largest((call.result, call.args[0] if call.name.endswith("_backward") else ()))
    if found := first_difference(by_name(lesson, call, answer[0]), CLOSE, size):
        cause = ROUNDED if alike(*found[1:], COARSE, size) else CAUSE
        raise Wrong(f"{found[0]} of {call.name} is another where arrays lie in memory {WAYS}", cause, call.name)
