"""The calls of a check once more, with the entries of dicts in another order: each function must answer as before.

First those of all dicts, and then of every other: two dicts with the same names need not have them in the same order.
"""

import itertools

from ..alike import largest
from ..compare import Wrong
from ..values import parts
from .answers import by_name, first_difference
from .memory_orders import CLOSE, once_more, those_with

CAUSE = "the entries of a dict are taken by their order; they have names, and may come in any order"
TURNED = (True,), (False, True)                      # all dicts of a call; every other, from the second on


def with_dicts_in_another_order(lesson, host, made, functions):
    """Raise Wrong where a call of one of these functions is answered differently. made: the calls of each draw"""
    asked = those_with(dict, made) if functions else []
    most = max((dicts_in(call.args) for call in asked), default=0)
    for which in TURNED[:most]:
        changed = [call._replace(args=turned(call.args, itertools.cycle(which))) for call in asked]
        once_more(lesson, host, asked, changed, functions, judge)


def dicts_in(value):
    return isinstance(value, dict) + sum(map(dicts_in, parts(value)))


def turned(value, which):
    """Each dict in it, or each that `which` says True of, with the entries from the last to the first"""
    if isinstance(value, dict):
        entries = reversed(value.items()) if next(which) else value.items()
        return {key: turned(part, which) for key, part in entries}
    return type(value)(turned(part, which) for part in value) if type(value) in (tuple, list) else value


def judge(lesson, call, answer):
    where = "where the entries of a dict come in another order"
    if isinstance(answer, Exception):
        raise Wrong(f"{where}, {answer}", CAUSE, call.name) from answer
    pairs = ((name, in_order(before), in_order(after)) for name, before, after in by_name(lesson, call, answer[0]))
    if found := first_difference(pairs, CLOSE, largest(call.result)):
        raise Wrong(f"{found[0]} of {call.name} is another {where}", CAUSE, call.name)


def in_order(value):
    """Names as they are in a dictionary: they may be returned in the order of the entries."""
    return sorted(value) if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value) else value
