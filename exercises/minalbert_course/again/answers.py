"""What a call returned before and returns now, name by name, and the first that differs."""

from ..alike import CLOSE, alike
from ..values import Opaque
from ..yours import unpacked


def by_name(lesson, call, result):
    """(name of what is returned, what the call had returned, what it returned now)"""
    names = lesson.functions[call.name]
    result = unpacked(call.name, result, names)
    return [(names[0], call.result, result)] if len(names) == 1 else zip(names, call.result, result, strict=True)


def first_difference(pairs, close=CLOSE, size=None):
    """The first of (name, before, after) in which something else is returned now, or None. Caches may differ."""
    return next((pair for pair in pairs if not isinstance(pair[1], Opaque) and not alike(*pair[1:], close, size)), None)
