"""From a wrong gradient to the mistake in it. Each rule says what it saw and what that usually means.

    suspects     arrays that known mistakes would give; `signatures` has those that need nothing but the right answer
    laws         what holds for every right answer, whatever the input: each row of softmax's gradient sums to zero

Suspects come first, for they give the very numbers: such a mistake is named without a doubt. What is no more than
likely begins with "perhaps: ", and what names no mistake at all, a law that is broken, say, with "seen: ".
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .signatures import factor_name, lengths_named, name_of, signatures

CLOSE = 1e-6
FLOAT16 = 2e-3
FLOAT32 = 1e-5                                       # relative error that rounding to 24 bits may leave
PERHAPS, SEEN = "perhaps: ", "seen: "


class Law(NamedTuple):
    says: str                                        # what a right answer does, and what is usually missing if not
    residual: Callable                               # of the answer: zero where the law holds


def guess(yours, expected, laws=(), known=None, suspects=None, gradient=True):
    """One sentence, or None where no rule fits.

    gradient   is it one, which may be a sum over several uses?
    known      {"√D": 2.0}: constants that a ratio may be
    suspects   {what went wrong: the array that it would give, or a function that makes it}
    """
    with np.errstate(all="ignore"):
        return next(_causes(yours, expected, laws, known or {}, suspects or {}, gradient), None)


def certain(cause):
    """Does the cause give the very numbers?"""
    return bool(cause) and not cause.startswith((PERHAPS, SEEN))


def in_words(cause):
    """looks like: the sign is wrong; or with the first word that the cause brings."""
    return f"looks like: {cause}" if certain(cause) else cause


def _causes(yours, expected, laws, known, suspects, gradient):
    """A sentence for each rule that fits, the surest first."""
    bad = ~np.isfinite(yours)
    if bad.any():
        kind = "not a number" if np.isnan(yours[bad][0]) else "infinite"
        first = np.argwhere(bad)[0].tolist()
        yield SEEN + (kind if bad.size == 1 else f"{kind}: the first one that is not finite is at {first}")
    for says, answer in suspects.items():
        if _alike(yours, np.atleast_1d(answer() if callable(answer) else answer), FLOAT32):
            yield says
    if not yours.any() and expected.any():
        yield SEEN + ("yours is zero everywhere: this path was never added" if yours.size > 1 else "yours is zero")
    if not _alike(yours, expected) and _alike(yours, expected, FLOAT32):
        yield "right to seven digits: float32 crept in (an astype, or an array made without the input's dtype)"
    if _alike(yours, expected) and yours.dtype == np.float32:
        yield "right to seven digits: yours is float32, where float64 was given"
    rounded = any(_alike(yours, other, CLOSE**2) for other in (np.round(yours, 3), yours.astype(np.float16)))
    if rounded and not _alike(yours, expected, FLOAT32) and _alike(yours, expected, FLOAT16):
        yield "right to three digits: these are rounded, or float16"
    if _alike(yours, -expected, FLOAT32):
        yield "the sign is wrong"
    for says, cut in (("above", np.minimum), ("below", np.maximum)):
        bound = yours.max() if says == "above" else yours.min()
        some = (yours == bound).sum() > 1 and np.ptp(yours) > FLOAT32 * abs(bound)
        if some and _alike(yours, cut(expected, bound), FLOAT32):
            yield f"what is {says} {bound:.6g} is cut to that"
    if ratio := _constant_ratio(yours, expected, known):
        lengths = lengths_named(ratio, expected.shape)
        named = factor_name(ratio, known)
        few = PERHAPS if expected.shape[-1] == 1 and not named and abs(ratio - round(ratio)) > CLOSE else ""
        yield f"{few}a constant factor: yours is {digits(ratio)}{named} times what is expected, everywhere{lengths}"
    if yours.ndim > 1 and _alike(yours.swapaxes(-1, -2), expected):
        yield "transposed"
    for says, answer in signatures(expected):
        if _explains(yours, expected, answer) and (expected.size > 2 or not says.startswith("shifted")):
            yield says
    for law in laws:
        if np.abs(law.residual(yours)).max() > 1e-4 * max(np.abs(yours).max(), 1e-300):
            yield SEEN + law.says
    if rows := _wrong_rows(yours, expected):
        uses = "are they used more than once, and is the gradient assigned (=) where it should be added (+=)?"
        uses = uses if np.any(yours[rows]) else "they are zero, so a path to them is missing"
        yield f"{PERHAPS}only rows {rows} are wrong: {uses}" if gradient else f"{SEEN}only rows {rows} are wrong"
    if not _alike(yours, expected, FLOAT32) and _alike(yours, expected, FLOAT16):
        yield f"{SEEN}it is right to three digits, and not to six"
    yield from _likely(yours, expected)


def _likely(yours, expected):
    """Describe the difference, and guess at what is behind it."""
    difference, size = yours - expected, np.abs(expected).max(initial=0.0)
    if not difference.size or yours.size < 2:
        return
    if np.ptp(difference) <= CLOSE * np.abs(difference).max():
        yield f"{PERHAPS}a term is missing or wrong that is {digits(-difference.flat[0])} everywhere"
    wrong = np.abs(difference) > CLOSE * size
    for axis in reversed(range(yours.ndim)):
        same = np.ptp(difference, axis=axis).max() <= CLOSE * np.abs(difference).max()
        if same and yours.ndim > 1 and yours.shape[axis] > 1:
            yield (f"{PERHAPS}the difference is constant along {name_of(axis, yours.ndim)}: a term that is the same "
                   "all along it, such as a mean or sum over it, is missing or wrong")  # fmt: skip
    if wrong.sum() <= wrong.size // 2:
        yield f"{SEEN}{wrong.sum()} of {wrong.size} entries are wrong{_where(wrong, expected)}"
    elif not yours[wrong].any():
        yield f"{SEEN}{wrong.sum()} of {wrong.size} entries are zero, and must not be{_where(wrong, expected)}"
    for axis in reversed(range(yours.ndim)):
        if yours.ndim > 1 and yours.shape[axis] > 1 and _same_factor(yours, expected, axis):
            yield (f"{PERHAPS}a factor that is the same all along {name_of(axis, yours.ndim)}, such as what each row "
                   "is divided by, is missing or wrong")  # fmt: skip
    if yours.size > 3 and _alike(np.sort(yours, axis=None), np.sort(expected, axis=None)):
        yield f"{PERHAPS}these are the right numbers in other places: an axis, an index or a reshape"


def _where(wrong, expected):
    """What the wrong entries have in common."""
    for axis in range(wrong.ndim):
        places = np.unique(np.nonzero(wrong)[axis])
        if len(places) == 1 and wrong.shape[axis] > 1:
            return f", all of them at index {places[0]} of {name_of(axis, wrong.ndim)}"
    signs = np.sign(expected[wrong])
    if len(set(signs.tolist())) == 1 and (np.sign(expected) != signs[0]).any():
        return f", those where {['zero', 'a positive number', 'a negative number'][int(signs[0])]} is expected"
    return ""


def _same_factor(yours, expected, axis):
    """Is yours what is expected times numbers that are the same along the axis?"""
    size = (expected * expected).sum(axis=axis, keepdims=True)
    factor = (yours * expected).sum(axis=axis, keepdims=True) / np.where(size, size, 1)
    return bool((np.abs(yours - factor * expected) <= CLOSE * np.abs(yours).max()).all())


def digits(number, count=6):
    """So many digits, or as many as tell it from one."""
    while abs(float(f"{number:.{count}g}")) == 1 != abs(number) and count < 15:
        count += 1
    return f"{number:.{count}g}"


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
    if 1 in expected and yours == tuple(size for size in expected if size != 1):
        return f"{SEEN}axes of size 1 are dropped"
    if not yours:
        return f"{PERHAPS}everything is summed, or a number stands in its place"
    if len(yours) == len(expected) == 1:
        return f"{PERHAPS}summed over the wrong axis"
    if len(yours) > len(expected) and yours[len(yours) - len(expected) :] == expected:
        if set(yours[: len(yours) - len(expected)]) == {1}:
            return f"{SEEN}axes of size 1 are added"
        return "the sum over the axes along which the tensor was broadcast is missing"
    if len(yours) == len(expected):
        axes = [i for i, (a, b) in enumerate(zip(yours, expected, strict=True)) if b == 1 != a]
        if axes and all(a == b for i, (a, b) in enumerate(zip(yours, expected, strict=True)) if i not in axes):
            return f"the sum over axis {axes[0]}, along which the tensor was broadcast, is missing"
    return None


def _alike(a, b, close=CLOSE):
    size = max(min(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)), 1e-300)
    return a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= close * size)


def _explains(yours, expected, answer):
    """Is the answer yours, and far nearer to it than what is expected?"""
    return _alike(yours, answer, FLOAT32) and np.abs(yours - answer).max() <= 0.05 * np.abs(yours - expected).max()


def _constant_ratio(yours, expected, known):
    """The ratio, or None where there is none; a single number needs a ratio that has a name."""
    size = (expected * expected).sum()
    if not size:
        return None
    ratio = float((yours * expected).sum() / size)
    if not ratio or not _explains(yours, expected, ratio * expected):
        return None
    return ratio if expected.size > 1 or factor_name(ratio, known) else None


def _wrong_rows(yours, expected):
    if yours.ndim != 2 or len(yours) < 3:
        return None
    wrong = np.abs(yours - expected).max(axis=1) > CLOSE * np.abs(expected).max()
    rows = [int(i) for i in np.nonzero(wrong)[0]]
    return rows if len(rows) <= len(yours) // 2 else None
