"""What common mistakes make of a right answer: each is an array that a wrong answer may equal.

    for says, answer in signatures(expected): ...

Only mistakes that need nothing but the right answer are here: a sign, a root, an order, an axis, an end.
"""

import math

import numpy as np


def signatures(expected):
    """(what went wrong, the array that it gives), the commonest first."""
    yield "the sign is wrong", -expected
    yield from _values(expected)
    for i in range(expected.ndim):
        if expected.shape[i] > 1:
            yield from _along(expected, i)
    for i in range(expected.ndim):
        for j in range(i):
            if expected.shape[i] == expected.shape[j] > 1:
                yield f"axes {j} and {i} have changed places", expected.swapaxes(i, j)


def _values(x):
    """Each entry for itself."""
    if (x < 0).any() and (x > 0).any():
        yield "the sign is lost: these are absolute values", np.abs(x)
    yield "squared: a square too many, or a root is missing", x * x
    if (x >= 0).all():
        yield "a root too many, or a square is missing", np.sqrt(x)
        yield "the logarithm is missing", np.exp(x)
        yield "a logarithm too many", np.log(x)
    yield "upside down: this is one divided by what is expected", 1 / x
    yield "this is one minus what is expected", 1 - x
    yield "one is added", x + 1
    yield "one is subtracted", x - 1
    if x.size > 1:
        yield "divided by the sum of all entries", x / x.sum()
        yield "rounded to whole numbers", np.round(x)
        yield "rounded down to whole numbers", np.floor(x)


def _along(x, axis):
    """Something done along one axis."""
    name = name_of(axis, x.ndim)
    mean = x.mean(axis=axis, keepdims=True)
    yield f"in reverse order along {name}", np.flip(x, axis)
    yield f"shifted by one along {name}: an index is one too small", np.roll(x, 1, axis)
    yield f"shifted by one along {name}: an index is one too large", np.roll(x, -1, axis)
    for which, index in (("first", 0), ("last", -1)):
        place = [slice(None)] * x.ndim
        place[axis] = slice(index, None) if index else slice(0, 1)
        place = tuple(place)
        without = x.copy()
        without[place] = 0
        yield f"the {which} entry along {name} is left out: it is zero", without
        yield f"only the {which} entry along {name} is there, the others are zero", x - without
        yield f"the {which} entry along {name} is used for all", np.broadcast_to(x[place], x.shape)
    yield f"the mean along {name} stands in all its places", np.broadcast_to(mean, x.shape)
    yield f"the sum along {name} stands in all its places", np.broadcast_to(mean * x.shape[axis], x.shape)
    yield f"summed up along {name}: each entry has those before it, too", np.cumsum(x, axis)
    yield f"the mean along {name} is subtracted", x - mean
    yield f"divided by the sum along {name}", x / (mean * x.shape[axis])
    yield f"sorted along {name}", np.sort(x, axis)


def name_of(axis, ndim):
    if ndim == 1:
        return "its one axis"
    return "the last axis" if axis == ndim - 1 else "the first axis" if axis == 0 else f"axis {axis}"


def factor_name(ratio, known, close=1e-5):
    """The name of a ratio in brackets: one of `known`, a constant, a root or a fraction; or nothing."""
    constants = {"1/ln 2, a logarithm to base 2": 1 / math.log(2), "ln 10": math.log(10), "π": math.pi,
                 "√π": math.pi**0.5, "√(2π)": (2 * math.pi) ** 0.5, "√(2/π)": (2 / math.pi) ** 0.5}  # fmt: skip
    roots = {f"√{n}": n**0.5 for n in range(2, 257) if math.isqrt(n) ** 2 != n}
    wholes = {str(n): n for n in range(2, 1025)}
    for names, tight, upright in ((known, close, True), (roots, close / 10, True), (wholes, close / 10, False),
                                  (constants, close / 10, True)):  # fmt: skip
        for name, value in names.items():
            if upright and abs(ratio - value) <= tight * value:
                return f" ({name})"
            if abs(ratio - 1 / value) <= tight / value:
                return f" (1/{name})"
    return ""


def lengths_named(ratio, shape):
    """Which lengths of axes, or roots of them, a ratio is made of, in words; or nothing."""
    lengths = {name_of(i, len(shape)): n for i, n in enumerate(shape) if n > 1}
    found = {n: f"{n} is the length of {name}" for name, n in reversed(lengths.items())}
    if len(shape) > 1:
        found = {math.prod(shape): f"{math.prod(shape)} is the number of entries",
                 math.prod(shape[:-1]): f"{math.prod(shape[:-1])} is the number of rows"} | found  # fmt: skip
    for n, says in found.items():
        if n > 1 and any(abs(ratio / value - 1) < 1e-6 for value in (n, 1 / n, n**0.5, n**-0.5)):
            return f"; {says}"
    return ""
