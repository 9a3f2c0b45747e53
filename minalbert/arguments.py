"""What an argument must be, and the sentence that refuses another.

A public function states its arguments in its first lines, and what lies below it checks nothing again:

    top = whole("top", top, 1, 30000)        top is 0; it must be a whole number from 1 to 30000
    rate = number("rate", rate, above=0)     rate is nan; it must be a number, above 0
    one_of("pool", pool, POOLS)              pool is 'last'; it must be one of: 'first', 'mean'
    flag("strict", strict)                   strict is 'no'; it must be True or False
    of_kind("batch", batch, Batch)           batch is a dict; it must be a Batch
    path = path_of("path", path)             path is ''; it must be the path of a file or a directory
    like("drawn", drawn, "a figure", "savefig")
                                             drawn is 5; it must be a figure
    dy = array("dy", dy, (8, None))          dy has shape (8,); it must be (8, any)

Each returns the argument, numbers as Python's own, or raises `error`: InputError, unless the argument is a setting.
"""

import math
import operator
import os
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from .errors import InputError

MOST = 2**63                                         # no count, size or seed is more
FAR = 2**20                                          # a limit from here on is named to those alone who exceed it
LONGEST = 80                                         # characters of a value in a sentence


def shown(value):
    """The value in a sentence: on one line, an array by its shape."""
    if getattr(value, "ndim", 0):
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value).split())
    except Exception:                                # somebody's object, or a number of a million digits
        return with_article(type(value).__name__)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def refusal(name, value, wanted, error=InputError):
    return error(f"{name} is {shown(value)}; it must be {wanted}")


def is_whole(value):
    """Is it a whole number? NumPy's are; True, False and 3.0 are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value):
    """Is it a finite number? True and False are none."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:                            # a whole number that no float can hold
        return False


def whole(name, value, least=0, most=MOST, error=InputError):
    if not is_whole(value) or not least <= value <= most:
        too_large = is_whole(value) and value > most
        limits = f"from {least} to {most}" if too_large or most < FAR else f"at least {least}"
        raise refusal(name, value, f"a whole number, {limits}", error)
    return operator.index(value)


def number(name, value, least=None, most=None, above=None, below=None, error=InputError):
    """A finite number."""
    fits = is_number(value) and all((
        least is None or value >= least, above is None or value > above,
        most is None or value <= most, below is None or value < below,
    ))  # fmt: skip
    if not fits:
        if None not in (least, most):
            raise refusal(name, value, f"a number from {least:g} to {most:g}", error)
        limits = {"at least": least, "above": above, "at most": most, "below": below}
        limits = " and ".join(f"{words} {limit:g}" for words, limit in limits.items() if limit is not None)
        raise refusal(name, value, f"a number, {limits}" if limits else "a finite number", error)
    return float(value)


def one_of(name, value, choices, error=InputError):
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        words = choices if all(isinstance(choice, str) for choice in choices) else map(repr, choices)
        raise refusal(name, value, f"one of: {', '.join(words)}", error)
    return value


def flag(name, value, error=InputError):
    if not isinstance(value, (bool, np.bool)):
        raise refusal(name, value, "True or False", error)
    return bool(value)


def text(name, value, error=InputError):
    if not isinstance(value, str):
        raise refusal(name, value, "a text", error)
    return value


def path_of(name, value, error=InputError):
    """A Path. An empty one would be the current directory, which nobody means by it."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value) or "\0" in str(value):
        raise refusal(name, value, "the path of a file or a directory", error)
    try:
        os.fsencode(value)
    except UnicodeEncodeError:                       # half of a letter, which no name can have
        raise refusal(name, value, "the path of a file or a directory", error) from None
    return Path(value)


def of_kind(name, value, kind, error=InputError):
    """An instance of a class, or of one of several (A | B)."""
    if not isinstance(value, kind):
        kinds = [each for each in getattr(kind, "__args__", [kind]) if each is not type(None)]
        wanted = " or ".join(each.__name__ for each in kinds)
        given = "None" if value is None else with_article(type(value).__name__)
        raise error(f"{name} is {given}; it must be {with_article(wanted)}")
    return value


def with_article(noun):
    return f"{'an' if noun[0] in 'AEIOaeio' else 'a'} {noun}"


def as_array(name, value, error=InputError):
    """The array of a list, all of whose rows must be of one length."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise refusal(name, value, "an array of numbers", error) from None


def like(name, value, what, *parts, error=InputError):
    """Anything that has the attributes `parts`, because objects of users may stand for ours. what: a kind, in words."""
    if any(not hasattr(value, part) for part in parts):
        raise refusal(name, value, what, error)
    return value


def array(name, value, shape=None, finite=True, error=InputError):
    """An array of numbers, NumPy's or CuPy's. In `shape`, None stands for any length."""
    if not hasattr(value, "dtype") or not hasattr(value, "shape") or value.dtype.kind not in "iuf":
        raise refusal(name, value, "an array of numbers", error)
    if shape is not None and not (
        len(shape) == value.ndim and all(want in (None, have) for want, have in zip(shape, value.shape, strict=True))
    ):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise error(f"{name} has shape {value.shape}; it must be ({wanted})")
    if finite and value.dtype.kind == "f" and not bool((abs(value) < math.inf).all()):
        raise error(f"{name} has an entry that is infinite or not a number")
    return value
