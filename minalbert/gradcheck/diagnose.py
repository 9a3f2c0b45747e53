"""From a wrong gradient to a first guess at the mistake. Each rule says what it saw and what that usually means.

    laws         what holds for every right answer, whatever the input: each row of softmax's gradient sums to zero
    signatures   what a mistake leaves behind: a constant ratio, a transpose, rows that were overwritten

Laws come first, for they hold or they do not. Whoever knows the function tells its laws, its constants and the
arrays that known mistakes would give (`suspects`); without them the rules see what can be seen of any gradient.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

CLOSE = 1e-6
FLOAT32 = 1e-5                                       # relative error that rounding to 24 bits may leave


class Law(NamedTuple):
    says: str                                        # what a right answer does, and what is usually missing if not
    residual: Callable                               # of the answer: zero where the law holds


def guess(yours, expected, laws=(), known=None, suspects=None):
    """One sentence, or None where no rule fits.

    known      {"√D": 2.0}: constants that a ratio may be
    suspects   {what went wrong: the array that it would give, or a function that makes it}
    """
    return next(_causes(yours, expected, laws, known or {}, suspects or {}), None)


def _causes(yours, expected, laws, known, suspects):
    """A sentence for each rule that fits, the surest first."""
    bad = ~np.isfinite(yours)
    if bad.any():
        kind = "not a number" if np.isnan(yours[bad][0]) else "infinite"
        first = np.argwhere(bad)[0].tolist()
        yield kind if bad.size == 1 else f"{kind}: the first one that is not finite is at {first}"
    if not yours.any() and expected.any():
        yield "yours is zero everywhere: this path was never added"
    for law in laws:
        if np.abs(law.residual(yours)).max() > 1e-4 * max(np.abs(yours).max(), 1e-300):
            yield law.says
    for says, answer in suspects.items():
        if _alike(yours, np.atleast_1d(answer() if callable(answer) else answer), FLOAT32):
            yield says
    if _alike(yours, -expected, FLOAT32):
        yield "the sign is wrong"
    if ratio := _constant_ratio(yours, expected):
        factor = f"{ratio:.6g}{_known_factor(ratio, known)}"
        yield f"a constant factor: yours is {factor} times what is expected, everywhere"
    if yours.ndim > 1 and _alike(yours.swapaxes(-1, -2), expected):
        yield "transposed"
    if rows := _wrong_rows(yours, expected):
        yield (f"only rows {rows} are wrong: are they used more than once, and is the gradient "
               "assigned (=) where it should be added (+=)?")
    for axis, name in ((-1, "the last axis"), (0, "the first axis")):
        difference = yours - expected
        if yours.ndim > 1 and np.ptp(difference, axis=axis).max() <= CLOSE * np.abs(difference).max():
            yield f"the difference is constant along {name}: a mean or sum over that axis is missing"
    if not _alike(yours, expected) and _alike(yours, expected, FLOAT32):
        yield "right to seven digits: float32 crept in (an astype, or an array made without the input's dtype)"
    if _alike(yours, expected) and yours.dtype == np.float32:
        yield "right to seven digits: yours is float32, where float64 was given"


def guess_model(wrong, right):
    """Which part of a model do the wrong gradients point to? `wrong` and `right` are names of parameters."""
    encoder = [name for name in wrong if name.startswith("encoder.")]
    spared = [name for name in right if name.startswith("encoder.") and not name.endswith("key.b")]
    if len(encoder) == len(wrong) and not spared:
        return (
            "the encoder's gradients alone are wrong, what passes through it is right: does each layer add (+=) "
            "its part, from its own cache?"
        )
    if len(wrong) > len(right):
        return "a part that most gradients pass through is wrong: check the pairs first"
    return None


def guess_shape(yours, expected, others):
    """A gradient of the wrong shape: which sum, transpose or place would mend it? `others`: name -> shape."""
    if yours == expected[::-1] and len(yours) > 1:
        return "transposed"
    for name, shape in others.items():
        if shape == expected:
            return f"in the wrong place, d{name} has this shape"
    if len(yours) == len(expected) == 1:
        return "summed over the wrong axis"
    if len(yours) > len(expected) and yours[len(yours) - len(expected) :] == expected:
        return "the sum over the axes along which the tensor was broadcast is missing"
    if len(yours) == len(expected):
        axes = [i for i, (a, b) in enumerate(zip(yours, expected, strict=True)) if b == 1 != a]
        if axes and all(a == b for i, (a, b) in enumerate(zip(yours, expected, strict=True)) if i not in axes):
            return f"the sum over axis {axes[0]}, along which the tensor was broadcast, is missing"
    return None


def _alike(a, b, close=CLOSE):
    size = max(np.abs(b).max(initial=0.0), 1e-300)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= close * size)


def _constant_ratio(yours, expected):
    size = (expected * expected).sum()
    if not size or expected.size < 2:
        return None
    ratio = float((yours * expected).sum() / size)
    return ratio if ratio and abs(ratio - 1) > 1e-4 and _alike(yours, ratio * expected, FLOAT32) else None


def _known_factor(ratio, known):
    """The name of the ratio in brackets: one of `known`, a root or a fraction; or nothing."""
    roots = {f"√{n}": n**0.5 for n in range(2, 257) if math.isqrt(n) ** 2 != n}
    wholes = {str(n): n for n in range(2, 1025)}
    for names, close, upright in ((known, FLOAT32, True), (roots, CLOSE, True), (wholes, CLOSE, False)):
        for name, value in names.items():
            if upright and abs(ratio - value) <= close * value:
                return f" ({name})"
            if abs(ratio - 1 / value) <= close / value:
                return f" (1/{name})"
    return ""


def _wrong_rows(yours, expected):
    if yours.ndim != 2 or len(yours) < 3:
        return None
    wrong = np.abs(yours - expected).max(axis=1) > CLOSE * np.abs(expected).max()
    rows = [int(i) for i in np.nonzero(wrong)[0]]
    return rows if len(rows) <= len(yours) // 2 else None
