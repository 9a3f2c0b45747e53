"""The calls of a check once more, with the entries of dicts in another order: each function must answer as before."""

from .compare import Wrong
from .interleaving import alike, by_name
from .memory_orders import CLOSE, holds, largest, once_more, those_with
from .values import Opaque

CAUSE = "the entries of a dict are taken by their order; they have names, and may come in any order"


def with_dicts_in_another_order(lesson, host, made, functions):
    """Raise Wrong where a call of one of these functions is answered differently. made: the calls of each draw"""
    asked = those_with(dict, made)
    if any(holds(call.args, dict) for call in asked) and functions:
        once_more(lesson, host, asked, [call._replace(args=turned(call.args)) for call in asked], functions, judge)


def turned(value):
    """Each dict in it with the entries from the last to the first"""
    if isinstance(value, dict):
        return {key: turned(part) for key, part in reversed(value.items())}
    return type(value)(map(turned, value)) if type(value) in (tuple, list) else value


def judge(lesson, call, answer):
    where = "where the entries of a dict come in another order"
    if isinstance(answer, Exception):
        raise Wrong(f"{where}, {answer}", CAUSE, call.name) from answer
    size = largest(call.result)
    for name, before, after in by_name(lesson, call, answer[0]):
        if not isinstance(before, Opaque) and not alike(in_order(before), in_order(after), CLOSE, size):
            raise Wrong(f"{name} of {call.name} is another {where}", CAUSE, call.name)


def in_order(value):
    """Names as they are in a dictionary: they may be returned in the order of the entries."""
    return sorted(value) if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value) else value
