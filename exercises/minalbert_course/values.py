"""What travels between a check and a student's functions beside arrays, and how a call can end without an answer."""

from typing import Any, NamedTuple

import numpy as np


class NotWritten(Exception):
    """The body still raises NotImplementedError, or the function is not there at all."""

    of = None                                        # the function's name


class Stopped(Exception):
    """It raised, left, ran too long, or took too much memory; the text says which, and where."""

    of = None


class OutOfTime(Stopped):
    """It ran too long, which says nothing of what it would have returned."""


class Opaque(NamedTuple):
    """A cache: only the function that made it, and its partner, look inside."""

    value: Any


class OnDevice(NamedTuple):
    """What a function returned as an array of the (pretended) GPU."""

    host: Any


class CacheOf(NamedTuple):
    """In the place of an argument of a `Step`: a cache that an earlier step returns."""

    step: int                                        # its number in the sequence
    part: int                                        # which of the values that it returns


class Step(NamedTuple):
    """One call of a sequence."""

    name: str
    args: tuple
    static: dict
    opaque: list                                     # which of the values that it returns are caches


def mapped(of_array, value):
    """The value with of_array(x) in the place of each array x in it"""
    if isinstance(value, np.ndarray):
        return of_array(value)
    if isinstance(value, dict):
        return {key: mapped(of_array, part) for key, part in value.items()}
    return type(value)(mapped(of_array, part) for part in value) if type(value) in (tuple, list) else value


def is_floats(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def parts(value):
    """The values that a dict, a list or a tuple holds; of anything else none."""
    return value.values() if isinstance(value, dict) else value if type(value) in (tuple, list) else ()
