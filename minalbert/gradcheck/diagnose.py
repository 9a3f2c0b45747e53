"""From a wrong gradient to a first guess at the mistake. Each rule says what it saw and what that usually means.

    laws         what holds for every right answer, whatever the input: each row of softmax's gradient sums to zero
    signatures   what a mistake leaves behind: a constant ratio, a transpose, rows that were overwritten

Laws come first, for they hold or they do not. Whoever knows the function tells its laws, its constants and the
arrays that known mistakes would give (`suspects`); without them the rules see what can be seen of any gradient.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

CLOSE = 1e-6
FLOAT32 = 1e-5                                       # relative error that rounding to 24 bits may leave


class Law(NamedTuple):
    says: str                                        # what a right answer does, and what is usually missing if not
    residual: Callable                               # of the answer: zero where the law holds


class Sight(NamedTuple):
    """What the rules look at."""

    yours: Any
    expected: Any
    laws: tuple = ()
    known: Mapping = {}                              # {"√D": 2.0}: constants a ratio may be
    suspects: Mapping = {}                           # {what went wrong: the array it would give, or a function of none}


def guess(yours, expected, laws=(), known=None, suspects=None):
    """One sentence, or None where no rule fits."""
    sight = Sight(yours, expected, laws, known or {}, suspects or {})
    return next((said for said in (rule(sight) for rule in RULES) if said), None)


def _not_finite(sight):
    bad = ~np.isfinite(sight.yours)
    if bad.any():
        kind = "not a number" if np.isnan(sight.yours[bad][0]) else "infinite"
        return kind if bad.size == 1 else f"{kind}: the first one that is not finite is at {_first(bad)}"
    return None


def _zero(sight):
    if not np.abs(sight.yours).max() and np.abs(sight.expected).max():
        return "yours is zero everywhere: this path was never added"
    return None


def _law(sight):
    for law in sight.laws:
        scale = max(np.abs(sight.yours).max(), 1e-300)
        if np.abs(law.residual(sight.yours)).max() > 1e-4 * scale:
            return law.says
    return None


def _suspect(sight):
    for says, answer in sight.suspects.items():
        answer = answer() if callable(answer) else answer
        if _alike(sight.yours, np.atleast_1d(answer), FLOAT32):
            return says
    return None


def _sign(sight):
    return "the sign is wrong" if _alike(sight.yours, -sight.expected, FLOAT32) else None


def _factor(sight):
    ratio = _constant_ratio(sight.yours, sight.expected)
    if ratio is None:
        return None
    factor = f"{ratio:.6g}{_known_factor(ratio, sight.known)}"
    return f"a constant factor: yours is {factor} times what is expected, everywhere"


def _transposed(sight):
    if sight.yours.ndim > 1 and _alike(sight.yours.swapaxes(-1, -2), sight.expected):
        return "transposed"
    return None


def _rows(sight):
    if rows := _wrong_rows(sight.yours, sight.expected):
        return (
            f"only rows {rows} are wrong: are they used more than once, and is the gradient "
            "assigned (=) where it should be added (+=)?"
        )
    return None


def _along(sight):
    if axis := _constant_along(sight.yours - sight.expected):
        return f"the difference is constant along {axis}: a mean or sum over that axis is missing"
    return None


def _rounding(sight):
    if not _alike(sight.yours, sight.expected, CLOSE) and _alike(sight.yours, sight.expected, FLOAT32):
        return "right to seven digits: float32 crept in (an astype, or an array made without the input's dtype)"
    if _alike(sight.yours, sight.expected, CLOSE) and np.asarray(sight.yours).dtype == np.float32:
        return "right to seven digits: yours is float32, where float64 was given"
    return None


RULES = (_not_finite, _zero, _law, _suspect, _sign, _factor, _transposed, _rows, _along, _rounding)


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
    if a.shape != b.shape:
        return False
    return bool(np.abs(a - b).max(initial=0.0) <= close * max(np.abs(b).max(initial=0.0), 1e-300))


def _first(where):
    return [int(i[0]) for i in np.nonzero(where)] if where.ndim else "the only entry"


def _constant_ratio(yours, expected):
    size = (expected * expected).sum()
    if not size or expected.size < 2:
        return None
    ratio = float((yours * expected).sum() / size)
    return ratio if ratio and abs(ratio - 1) > 1e-4 and _alike(yours, ratio * expected, FLOAT32) else None


def _known_factor(ratio, known):
    for name, value in known.items():
        for factor, said in ((value, name), (1 / value, f"1/{name}")):
            if abs(ratio - factor) <= FLOAT32 * factor:
                return f" ({said})"
    for squared in range(2, 257):
        for value, name in ((squared**0.5, f"√{squared}"), (squared**-0.5, f"1/√{squared}")):
            if abs(ratio - value) <= CLOSE * value and math.isqrt(squared) ** 2 != squared:
                return f" ({name})"
    for whole in range(2, 1025):
        if abs(ratio - 1 / whole) <= CLOSE / whole:
            return f" (1/{whole})"
    return ""


def _wrong_rows(yours, expected):
    if yours.ndim != 2 or len(yours) < 3:
        return None
    wrong = np.abs(yours - expected).max(axis=1) > CLOSE * np.abs(expected).max()
    rows = [int(i) for i in np.nonzero(wrong)[0]]
    return rows if len(rows) <= len(yours) // 2 else None


def _constant_along(difference):
    if difference.ndim < 2:
        return None
    size = np.abs(difference).max()
    for axis, name in ((-1, "the last axis"), (0, "the first axis")):
        if np.ptp(difference, axis=axis).max() <= CLOSE * size:
            return name
    return None
