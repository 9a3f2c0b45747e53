"""Copies of what a function is given and of what it returns, and whether either was changed since."""

import copy
from typing import Any, NamedTuple

import numpy as np

from .given import Given
from .values import OnDevice, Opaque

SIMPLE = (str, bytes, int, float, complex, np.generic, type(None))
UNCHANGEABLE = {str, bytes, int, float, complex, bool, type(None)}


class Thing(NamedTuple):
    """In the place of what is neither simple nor holds anything: the same must stand there again."""

    itself: Any


def copies(value, lists=None):
    """Arguments as the function gets them: copies of arrays, what was `Given` made, caches as they were.

    lists: a set for the ids of the lists that are made
    """
    if isinstance(value, Given):
        return value.make()
    if isinstance(value, Opaque):
        return value.value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copies(part, lists) for key, part in value.items()}
    if type(value) in (tuple, list):
        made = type(value)(value if flat(value) else [copies(part, lists) for part in value])
        if lists is not None and type(value) is list:
            lists.add(id(made))
        return made
    return copy.copy(value)


def flat(value):
    """Has a list or a tuple nothing in it that could be written into? Long lists of numbers are common."""
    return UNCHANGEABLE.issuperset(map(type, value))


def copied(value):
    """The arrays, numbers and texts in it, to compare with afterwards; a cache is the student's own to write into."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return list(value if flat(value) else map(copied, value))
    if hasattr(value, "_pretended"):
        return value.get()
    return value if isinstance(value, SIMPLE) else Thing(value)


def kept(result, opaque):
    """The result, with caches wrapped up, and the rest copied: no later call can write into it."""
    if isinstance(result, tuple | list) and opaque and len(result) > max(opaque):
        return tuple(Opaque(part) if i in opaque else taken(part) for i, part in enumerate(result))
    return taken(result)


def taken(value):
    """A copy; arrays of exercise 12's device as `OnDevice`."""
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)(value if flat(value) else map(taken, value))
    if isinstance(value, dict):
        return {key: taken(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.copy()
    return OnDevice(value.get()) if hasattr(value, "_pretended") else value


def identical(old, new):
    """Have two arrays the same bytes? That is seen sooner than whether their numbers are equal."""
    return old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes()


def changed(old, new):
    """Does this hold anything else than it did? old: what `copied` kept of it"""
    if hasattr(new, "_pretended"):
        new = new.get()
    if isinstance(old, np.ndarray):
        if not isinstance(new, np.ndarray) or old.shape != new.shape:
            return True
        if identical(old, new):
            return False
        same = old == new
        return not (same.all() or (same | ((old != old) & (new != new))).all())
    if isinstance(old, dict):
        return not isinstance(new, dict) or old.keys() != new.keys() or any(changed(old[key], new[key]) for key in old)
    if isinstance(old, list):
        if not isinstance(new, list | tuple) or len(old) != len(new):
            return True
        same = flat(old) and flat(new) and old == list(new)
        return not same and any(map(changed, old, new))
    if isinstance(old, Thing):
        return old.itself is not new
    return not isinstance(new, SIMPLE) or not (old == new or (old != old and new != new))
