"""A backward pass is linear: of a dy that is very small it gives as much less, and of a sum of two the sum.

Whoever takes a dy that is small, or whose numbers sum to zero, for one that is zero then answers differently; and so
does whoever counts equal rows once, takes a row of equal numbers for zeros, or leaves out rows that have a zero.
"""

import numpy as np

from .compare import Wrong
from .interleaving import alike
from .memory_orders import largest
from .scaled_upstream import PassesAgain, passes_of, times
from .yours import NotWritten, Stopped

LITTLE = 2.0**-60                                    # a power of two, which rounds nothing
SMALL = "perhaps: a dy, or a gradient, that is small is taken for zero, or something is added to it"
OF_PARTS = {                                         # what one part of a sum is like -> what may be wrong
    "has zeros": "perhaps: rows or places of dy with a zero are left out",
    "has one number everywhere": "perhaps: a dy whose numbers or rows are equal is a case of its own",
    "sums to zero": "perhaps: a dy whose numbers sum to zero is taken for one that is zero",
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
    parts = zip(OF_PARTS, (with_zeros(dy), constant(dy), balanced(dy)), strict=True)
    parts = {says: part for says, part in parts if part is not None}
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
                raise Wrong(seen, OF_PARTS[says], call.name)


def balanced(dy):
    """An array as dy whose rows sum to zero, without rounding; None where it has too few numbers."""
    if not isinstance(dy, np.ndarray) or dy.size < 2:
        return None
    size = size_of(dy)
    coarse = np.round(64 * dy / size) * size / 64
    turned = coarse[..., ::-1] if dy.shape[-1] > 1 else coarse.ravel()[::-1].reshape(dy.shape)
    return coarse - turned if (coarse != turned).any() else None


def constant(dy):
    """An array as dy with one number everywhere; None where it has too few numbers."""
    return np.full_like(dy, size_of(dy)) if isinstance(dy, np.ndarray) and dy.size > 1 else None


def with_zeros(dy):
    """The array with 0 at every other place; None where it has too few numbers."""
    if not isinstance(dy, np.ndarray) or dy.size < 2:
        return None
    return np.where(np.arange(dy.size).reshape(dy.shape) % 2, dy, 0)


def size_of(dy):
    """A power of two, near the largest of its numbers."""
    return 2.0 ** np.floor(np.log2(np.abs(dy).max() or 1.0))


def plus(one, other):
    """The sum of two results of one function, array by array."""
    if isinstance(one, dict):
        return {key: plus(one[key], other[key]) for key in one}
    if type(one) in (tuple, list):
        return [plus(*pair) for pair in zip(one, other, strict=True)]
    return one if one is None else np.add(one, other)
