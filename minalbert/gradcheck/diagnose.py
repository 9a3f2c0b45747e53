"""From a wrong gradient to a first guess at the mistake. Each rule says what it saw, and no more."""

import numpy as np

CLOSE = 1e-6


def _alike(a, b):
    return a.shape == b.shape and np.abs(a - b).max() <= CLOSE * max(np.abs(b).max(), 1e-300)


def guess(yours, expected):
    """One sentence, or None where no rule fits."""
    if not np.isfinite(yours).all():
        return f"not a number: the first one that is not finite is at {_first(~np.isfinite(yours))}"
    if not np.abs(yours).max():
        return "yours is zero everywhere: this path was never added"
    if _alike(yours, -expected):
        return "the sign is wrong"
    if ratio := _constant_ratio(yours, expected):
        return f"a constant factor: yours is {ratio:.6g}{_known_factor(ratio)} times what is expected, everywhere"
    if yours.ndim > 1 and _alike(yours.swapaxes(-1, -2), expected):
        return "transposed"
    if rows := _wrong_rows(yours, expected):
        return (
            f"only rows {rows} are wrong: are they used more than once, and is the gradient "
            "assigned (=) where it should be added (+=)?"
        )
    if axis := _constant_along(yours - expected):
        return f"the difference is constant along {axis}: a mean or sum over that axis is missing"
    return None


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


def _first(where):
    return [int(i[0]) for i in np.nonzero(where)] if where.ndim else "the only entry"


def _constant_ratio(yours, expected):
    size = (expected * expected).sum()
    if not size or expected.size < 2:
        return None
    ratio = float((yours * expected).sum() / size)
    return ratio if ratio and abs(ratio - 1) > 1e-4 and _alike(yours, ratio * expected) else None


def _known_factor(ratio):
    for squared in range(2, 257):
        for value, name in ((squared**0.5, f"√{squared}"), (squared**-0.5, f"1/√{squared}")):
            if abs(ratio - value) <= CLOSE * value and round(squared**0.5) ** 2 != squared:
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
