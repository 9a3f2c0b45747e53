"""Compare as `same` does; where it differs, a mistake is named only if it gives the student's own numbers."""

import numpy as np

from ..compare import EXPLAINING, LIMIT, OwnGradient, Wrong, exactly, same


def matches(
    name, yours, expected, axes=None, suspects=None, terms=None, found=None, natural=None, limit=LIMIT, follows=None,
    given=None, **known,
):  # fmt: skip
    """Raise Wrong unless yours is expected.

    suspects   a function that gives {mistake: what it makes}; it is called where something is wrong
    terms      a function that gives {term: its array}; expected is their sum
    found      a function of yours that gives the mistake, or None
    given      (a function of arguments by name that gives what is expected, the arguments): is one of them changed?
    natural    the size of what expected is a difference of: rounding is relative to that
    follows    a function that gives what `same` is told by that name; known: what else it is told
    """
    expected = np.asarray(expected)
    if natural:
        limit *= max(1.0, natural / (np.abs(expected).max(initial=0.0) or 1.0))
    with np.errstate(all="ignore"):
        follows = follows() if follows and isinstance(yours, OwnGradient) else None
    try:
        same(name, yours, expected, axes, limit=limit, follows=follows, **known)
    except Wrong as error:
        if not EXPLAINING.get():
            raise
        array = np.asarray(yours)
        array = array.astype(float) if array.dtype.kind in "fiub" else np.empty(0)
        if array.shape == expected.shape and array.any() and np.isfinite(array).all():
            with np.errstate(all="ignore"):
                cause = mistake(array, suspects) or factors(array, terms) or (found(array) if found else None)
                guessed = (error.cause or "perhaps").startswith(("perhaps", "seen"))
                if not cause and guessed:
                    cause = changed(name, array, expected, given)
            error.cause, error.final = cause or error.cause, OR in (cause or "")
            exactly(error)
        raise


OR = "; or: "
CHANGES = {
    "the absolute values of {}": np.abs,
    "{}, sorted along the last axis,": lambda a: np.sort(a) if a.ndim else a,
    "{}, cut off above 1,": lambda a: np.minimum(a, 1),
    "{}, cut off above 10,": lambda a: np.minimum(a, 10),
    "{}, cut off below 0,": lambda a: np.maximum(a, 0),
    "{}, kept between -1 and 1,": lambda a: np.clip(a, -1, 1),
    "{}, kept between -10 and 10,": lambda a: np.clip(a, -10, 10),
    "{}, kept between 0 and 1,": lambda a: np.clip(a, 0, 1),
    "{}, rounded to whole numbers,": np.round,
    "{}, rounded to two digits,": lambda a: np.round(a, 2),
    "{}, rounded to three digits,": lambda a: np.round(a, 3),
    "the whole part of {}": np.trunc,
    "{} in float16": lambda a: a.astype(np.float16).astype(float),
    "the signs of {}": np.sign,
    "{} != 0, which is 0 or 1,": lambda a: (a != 0).astype(float),
    "{} > 0, which is 0 or 1,": lambda a: (a > 0).astype(float),
    "zeros for {}": np.zeros_like,
    "-{}": np.negative,
    "the square of {}": np.square,
    "2 {}": lambda a: 2 * a,
    "{} / 2": lambda a: a / 2,
    "{} + 1": lambda a: a + 1,
    "{} less its mean": lambda a: a - a.mean(),
    "{} in reverse order of the first axis": lambda a: a[::-1] if a.ndim else a,
    "{} in reverse order of the last axis": lambda a: a[..., ::-1] if a.ndim else a,
    "{} in reverse order of the second axis": lambda a: a[:, ::-1] if a.ndim > 1 else a,
    "the first of {} for all along the first axis": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim else a,
    "the last of {} for all along the first axis": lambda a: np.broadcast_to(a[-1:], a.shape) if a.ndim else a,
    "the first of {} for all along the last axis": lambda a: np.broadcast_to(a[..., :1], a.shape) if a.ndim else a,
    "{}, moved by one along the first axis,": lambda a: np.roll(a, 1, axis=0) if a.ndim else a,
    "{}, moved by one along the last axis,": lambda a: np.roll(a, 1, axis=-1) if a.ndim else a,
    "{}, moved back by one along the first axis,": lambda a: np.roll(a, -1, axis=0) if a.ndim else a,
    "{}, transposed,": lambda a: a.swapaxes(-1, -2) if a.ndim > 1 and a.shape[-1] == a.shape[-2] else a,
    "the mean of {} in all its places": lambda a: np.full_like(a, a.mean()),
    "{}, whose last row is 0,": lambda a: np.concatenate([a[:-1], 0 * a[-1:]]) if a.ndim else a,
    "{}, whose first row is 0,": lambda a: np.concatenate([0 * a[:1], a[1:]]) if a.ndim else a,
}


def changed(name, yours, expected, given):
    """Is this what is expected, changed in a simple way, or of an argument that was? Of two numbers nothing is said,
    nor of many that are but one or two: a cut or an overflow makes such numbers, too."""
    if yours.size < 3 or len(np.unique(yours)) < 3:
        return None

    def explains(answer):
        return equals(yours, answer) and np.abs(yours - answer).max() <= 0.05 * np.abs(yours - expected).max()

    for says, change in CHANGES.items():
        if explains(change(expected)):
            return f"this is {says.format(name).rstrip(',')}"
    function, arguments = given or (None, {})
    for argument, array in arguments.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            continue
        for says, change in CHANGES.items():
            other = change(array)
            if not np.array_equal(other, array) and explains(function(**arguments | {argument: other})):
                return f"this is right for {says.format(argument).rstrip(',')}, in the place of {argument}"
    return exchanged(yours, function, arguments)


def exchanged(yours, function, arguments):
    """Is it right where one argument stands for another?"""
    for one, array in arguments.items():
        for other, instead in arguments.items():
            if one != other and getattr(array, "shape", 0) == getattr(instead, "shape", 1):
                if equals(yours, function(**arguments | {one: instead, other: array})):
                    return f"{one} and {other} are exchanged"
                if equals(yours, function(**arguments | {one: instead})):
                    return f"{other} is used where {one} is meant"
    return None


def mistake(yours, suspects):
    """Which of the suspects gives these numbers, or None; where several do, nobody can tell which it is."""
    fits = [says for says, array in suspects().items() if equals(yours, array)] if suspects else []
    return f"perhaps: {OR.join(fits[:3])}" if len(fits) > 1 else fits[0] if fits else None


def equals(yours, array):
    array = np.asarray(array() if callable(array) else array)
    if array.shape != yours.shape or not np.isfinite(array).all():
        return False
    return bool(np.abs(yours - array).max() <= LIMIT * min(np.abs(yours).max(), np.abs(array).max()))


def factors(yours, terms):
    """Which terms have another factor than one, where yours is a sum of multiples of them; or None."""
    parts = {name: np.broadcast_to(array, yours.shape).ravel() for name, array in terms().items()} if terms else {}
    if not 1 < len(parts) < yours.size:
        return None
    matrix = np.stack(list(parts.values()), axis=1)
    found, _, rank, spread = np.linalg.lstsq(matrix, yours.ravel(), rcond=None)
    if rank < len(parts) or spread[-1] < 1e-6 * spread[0] or not equals(yours.ravel(), matrix @ found):
        return None
    other = {name: factor for name, factor in zip(parts, found, strict=True) if abs(factor - 1) > 10 * LIMIT}
    if len(other) > 2 or (len(other) == len(parts) and np.ptp(found) < LIMIT):
        return None
    return "; ".join(f"{name} {in_words(factor)}" for name, factor in other.items()) or None


def in_words(factor):
    if abs(factor) < 10 * LIMIT:
        return "is missing"
    return "has the wrong sign" if abs(factor + 1) < 10 * LIMIT else f"comes in {factor:.5g} times"
