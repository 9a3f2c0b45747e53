"""One value in the place of another: what a slip makes of an array or a number."""

import math

import numpy as np


def others(value):
    """(words with a place for the name, another value)"""
    if isinstance(value, np.ndarray) and value.size:
        yield from other_arrays(value)
    elif is_float(value):
        yield "{} is left out, as if it were 0", 0.0
        yield "{} is used as if it were 1", 1.0
        yield "{} is squared", value * value
        yield "the root of {} is taken", abs(value) ** 0.5
        yield "{} has the other sign", -value
        yield "{} is used twice", 2 * value
        yield "one minus {} is used", 1 - value
        yield "1 is added to {}", 1 + value
    elif isinstance(value, int) and not isinstance(value, bool):
        for other in {1, value - 1, value + 1} - {value}:
            yield f"{{}} is used as if it were {other}, not {value}", other


def other_arrays(x):
    if x.dtype.kind == "f":
        yield "{} is left out, as if it were zero", 0 * x
        yield "{} is used as if it were one everywhere", np.ones_like(x)
        yield "{} is used as zero and one: what is not zero counts as one", (x != 0).astype(x.dtype)
        yield "{} is used as zero and one: what is above zero counts as one", (x > 0).astype(x.dtype)
        yield "{} has the other sign", -x
        yield "the absolute value of {} is used", np.abs(x)
        yield "negative numbers of {} count as zero", np.maximum(x, 0)
        yield "positive numbers of {} count as zero", np.minimum(x, 0)
        yield "numbers of {} above 1 are cut to 1", np.minimum(x, 1)
        yield "numbers of {} below -1 or above 1 are cut", np.clip(x, -1, 1)
        yield "{} is squared", x * x
        for says, factor in factors(x.shape):
            yield f"{{}} is {says} times as large", factor * x
        yield "{} is divided by its largest", x / np.abs(x).max()
        yield "{} is rounded to whole numbers", np.round(x)
        yield "{} is divided by its sum", x / x.sum()
        yield "the root of {} is taken", np.sqrt(x)
        yield "the exponential of {} is taken", np.exp(x)
        yield "one divided by {} is used", 1 / x
        yield "one minus {} is used", 1 - x
        yield "{} is float16", x.astype(np.float16).astype(x.dtype)
        yield "{} is cut to whole numbers", np.trunc(x)
        yield "{} is sorted along its last axis", np.sort(x)
    elif x.dtype.kind in "iu":
        yield "{} is used as if it were 0 everywhere", 0 * x
        yield "{} is used as if it were 1 everywhere", np.ones_like(x)
        yield "1 is added to {}", x + 1
        yield "1 is subtracted from {}", np.maximum(x - 1, 0)
        yield "{} is used as zero and one", (x != 0).astype(x.dtype)
    for axis in range(x.ndim):
        if x.shape[axis] > 1:
            first, last = np.take(x, [0], axis), np.take(x, [-1], axis)
            where = f"along axis {axis}"
            yield f"the first of {{}} {where} is used for all", np.repeat(first, x.shape[axis], axis)
            yield f"the last of {{}} {where} is used for all", np.repeat(last, x.shape[axis], axis)
            yield f"{{}} is in reverse order {where}", np.flip(x, axis).copy()
            yield f"{{}} is shifted by one {where}", np.roll(x, 1, axis)
            yield f"{{}} is shifted by minus one {where}", np.roll(x, -1, axis)
            if x.dtype.kind == "f":
                mean = x.mean(axis=axis, keepdims=True)
                yield f"the mean of {{}} {where} is used for all", np.repeat(mean, x.shape[axis], axis)
                yield f"{{}} has its mean {where} subtracted", x - mean
    if x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        yield "{} is transposed", x.swapaxes(-1, -2).copy()


def factors(shape):
    """(words, factor): what scaling by lengths and their roots gives, and a logarithm or power of base 2."""
    yield from (("2", 2.0), ("1/2", 0.5), ("ln 2", math.log(2)), ("1/ln 2", 1 / math.log(2)))
    heads = {shape[1] * shape[-1]} if len(shape) > 2 else set()
    for n in sorted({n for n in shape if n > 2} | {math.prod(shape)} | heads):
        for name, value in ((f"{n}", n), (f"√{n}", n**0.5), (f"√√{n}", n**0.25)):
            yield from ((name, value), (f"1/{name}", 1 / value))


def is_float(value):
    return isinstance(value, float | np.floating)
