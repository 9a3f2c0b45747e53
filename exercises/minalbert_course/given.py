"""What a check hands to a function beside arrays and numbers, as a description that both sides can build it from.

A student's code may run in another process; functions, generators and models do not travel there, but their
descriptions do: `Given("rng", 7)` is numpy.random.default_rng(7) where it arrives, and `Given("one rng", 7)` is one
such generator in all calls, as the calls before leave it.
"""

import copy
from functools import cache
from typing import NamedTuple

import numpy as np


def array(numbers, way, writeable):
    """An array of these numbers that lies in memory "column by column", "with gaps" or "with two axes interchanged"."""
    if way == "column by column":
        made = np.array(numbers, order="F")
    elif way == "with gaps":
        made = np.stack([numbers, np.flip(numbers)], axis=-1)[..., 0]
    else:                                            # of three axes or more: neither row by row nor column by column
        made = np.swapaxes(np.array(np.swapaxes(numbers, 0, numbers.ndim // 2), order="C"), 0, numbers.ndim // 2)
    if writeable or made.dtype.hasobject:
        made.flags.writeable = writeable
        return made
    memory = (made if made.base is None else made.base).tobytes("A")    # bytes: it cannot be made writeable again
    return np.ndarray(made.shape, made.dtype, memory, strides=made.strides)


HELD = {}


def filled(slot, value):
    """`value`, written into the arrays, lists and dicts that were made for this slot before, if they fit."""
    if slot not in HELD or not fits(HELD[slot], value):
        HELD[slot] = copy.deepcopy(value)
    else:
        fill(HELD[slot], value)
    return HELD[slot]


def renewed(slot, value):
    """The dict or list that was made for this slot before, with new objects in it."""
    if type(HELD.get(slot)) is not type(value):
        HELD[slot] = type(value)()
    held, items = HELD[slot], copy.deepcopy(value)
    held.clear()
    if isinstance(held, dict):
        held.update(items)
    else:
        held.extend(items)
    return held


def as_left(slot):
    """What was made for this slot, with what was written into it since."""
    return HELD[slot]


def fits(held, value):
    if type(held) is not type(value):
        return False
    if isinstance(value, np.ndarray):
        return held.shape == value.shape and held.dtype == value.dtype
    if isinstance(value, dict):
        return held.keys() == value.keys() and all(fits(held[key], part) for key, part in value.items())
    if isinstance(value, list):
        return len(held) == len(value) and all(map(fits, held, value))
    return isinstance(value, int | float | str | None) and held == value


def fill(held, value):
    if isinstance(value, np.ndarray):
        held[...] = value
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            fill(held[key], part)


REFILLED = {}


def one_dict(items):
    """Every time the same dict, with these items alone."""
    REFILLED.clear()
    REFILLED.update(items)
    return REFILLED


GENERATORS = {"rng": np.random.default_rng, "one rng": cache(np.random.default_rng)}
MAKERS = {**GENERATORS, "array": array, "filled": filled, "renewed": renewed, "as left": as_left, "one dict": one_dict}


class Given(NamedTuple):
    kind: str
    args: tuple

    @classmethod
    def of(cls, kind, *args):
        return cls(kind, args)

    def make(self):
        return MAKERS[self.kind](*self.args)


def maker(kind):
    """A decorator: how to make what is called `kind`; in makers/ex05.py, which a submission's process imports, too."""

    def add(function):
        MAKERS[kind] = function
        return function

    return add
