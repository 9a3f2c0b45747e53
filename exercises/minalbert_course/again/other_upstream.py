"""A backward pass is linear: of a dy that is very small it gives as much less, and of a sum of two the sum.

Whoever takes a dy that is small, or whose numbers sum to zero, for one that is zero then answers differently; and so
does whoever counts equal rows once, takes a row of equal numbers for zeros, or leaves out rows that have a zero.
"""

import numpy as np

from ..alike import alike, largest
from ..compare import Wrong
from ..values import NotWritten, Stopped
from .scaled_upstream import PassesAgain, passes_of, times

LITTLE = 2.0**-60                                    # a power of two, which rounds nothing
SMALL = "perhaps: a dy, or a gradient, that is small is taken for zero, or something is added to it"
ZEROS, CONSTANT, BALANCED = "has zeros", "has one number everywhere", "sums to zero"
CAUSES = {
    ZEROS: "perhaps: rows or places of dy with a zero are left out",
    CONSTANT: "perhaps: a dy whose numbers or rows are equal is a case of its own",
    BALANCED: "perhaps: a dy whose numbers sum to zero is taken for one that is zero",
}
CLOSE = 1e-4                                         # of a difference of two gradients, perhaps in float32
MOST = 2                                             # backward passes of a check


def with_other_upstream(lesson, host, calls, of, asked):
    """Raise Wrong where the backward pass of that name is not linear in the gradients that are asked for."""
    for call, forward in passes_of(calls, of)[:MOST]:
        try:
            ask(lesson, host, call, forward, asked)
        except (NotWritten, Stopped) as error:
            raise Wrong(f"given another dy, {error}", None, call.name) from error


def ask(lesson, host, call, forward, asked):
    """A dy that is very small; and others, alone and added to the call's."""
    dy, passes = call.args[0], PassesAgain(lesson, call, forward, asked)
    parts = parts_of_sums(dy)
    upstream = [times(-2.0, dy), times(LITTLE, dy), *(one for part in parts.values() for one in (part, part + dy))]
    twice, little, *others = [passes.gradients(one, passes.cache_of(forward.args)) for one in upstream]
    passes.ask(host)
    if not all(alike(times(-2.0, before), after) for _, before, after in passes.pairs(*twice)):
        return                                       # not linear at all, which other checks say
    for name, before, after in passes.pairs(*little):
        if not alike(times(LITTLE, before), after):
            raise Wrong(f"{name} of {call.name} is not 2⁻⁶⁰ times as large where dy is", SMALL, call.name)
    for says, alone, both in zip(parts, others[::2], others[1::2], strict=True):
        for (name, before, one), (_, _, total) in zip(passes.pairs(*alone), passes.pairs(*both), strict=True):
            if not alike(total, plus(before, one), CLOSE, largest((before, one, dy))):
                seen = f"{name} of {call.name} is not the sum of two gradients, where dy is a sum and one part {says}"
                raise Wrong(seen, CAUSES[says], call.name)


def parts_of_sums(dy):
    """{what it is like: an array as dy}; none for a dy of one number."""
    if not isinstance(dy, np.ndarray) or dy.size < 2:
        return {}
    size = 2.0 ** np.floor(np.log2(np.abs(dy).max() or 1.0))
    parts = {ZEROS: np.where(np.arange(dy.size).reshape(dy.shape) % 2, dy, 0), CONSTANT: np.full_like(dy, size)}
    even = balanced(dy, size)
    return parts | {BALANCED: even} if even.any() else parts


def balanced(dy, size):
    """An array as dy whose rows sum to zero, without rounding. size: a power of two, near dy's largest number"""
    coarse = np.round(64 * dy / size) * size / 64
    return coarse - (coarse[..., ::-1] if dy.shape[-1] > 1 else coarse.ravel()[::-1].reshape(dy.shape))


def plus(one, other):
    """The sum of two results of one function, array by array."""
    if isinstance(one, dict):
        return {key: plus(one[key], other[key]) for key in one}
    if type(one) in (tuple, list):
        return [plus(*pair) for pair in zip(one, other, strict=True)]
    return one if one is None else np.add(one, other)
