"""What the checks of exercise 3 and of its variant share."""

import numpy as np

from minalbert.gradcheck.diagnose import Law

from ...alike import alike
from ...compare import LIMIT, Wrong, agrees, numbers, same
from ...outside import numbers as outside_numbers
from ...outside import ramp
from ..corners import DROPPED_AXIS, Corner, guessing, upstream
from ..matches import matches

ROWS = (
    Corner(B=1, T=1, H=2),
    Corner("tiny", B=2, T=1, H=4),
    Corner("large", B=4, T=3, H=2),
    Corner("large", B=1, T=4, H=3),
    Corner("zero", B=3, T=2, H=4),
    Corner(B=3, T=4, H=1),
    Corner("large", B=1, T=2, H=64),
    Corner(B=3, T=3, H=3),
    Corner("constant", B=2, T=3, H=5),
    Corner("initial", B=2, T=3, H=4),
    Corner("outlier", B=1, T=2, H=300),              # xhat may be as large as the root of H
    Corner(B=70, T=2, H=2),
    Corner(B=1, T=1, H=1030),
)
TINY = 1e-12                                         # the model's eps; elsewhere it is about 0.1, where it is seen
SMALL_EPS = Corner("tiny", B=2, T=2, H=5, eps=TINY), Corner("least", B=2, T=2, H=5)
NO_EPS = Corner("least", B=2, T=2, H=5, eps=0.0)     # where any eps shows
ONE_SIGN = Corner("one sign", B=2, T=2, H=4)
CUT_OFF = "perhaps: r is cut off where rows are small, or dx is a difference with too wide a step"
SHIFT = (
    "the rows of dx do not sum to zero, as they must: adding a constant to a row of x changes nothing. Perhaps the "
    "path through the mean is missing, or that mean is taken of something else than g = dy gain"
)
SCALE = (
    "Σ_j dx_j xhat_j of a row is not eps r³ Σ_j g_j xhat_j, as it must be, and nearly zero: scaling a row of x "
    "changes next to nothing. Perhaps the path through the {spread} is missing, or has another factor"
)


def point(draw, *axes):
    """x, gain, bias, eps, dy; x: (B, T, H), or (*axes, H)"""
    B, T, H = draw.sizes(B=2, T=3, H=6, least=3)
    x = 2 * draw.normal(*(axes or (B, T)), H)
    corner = getattr(draw, "corner", ROWS[0])
    kind, sizes = corner.kind, corner.sizes
    x = x + 1 if kind == "usual" else x
    if x.size > x.shape[-1]:
        x[(0,) * (x.ndim - 1)] *= 0.12               # a row whose variance is less than eps
    gain, bias = draw.gain(x.shape[-1]), draw.normal(x.shape[-1])
    if kind == "constant":
        x[0, 0], x[-1, -1], gain[1] = 50.0, 0.0, 0.0
    if kind == "initial":
        bias = np.zeros_like(bias)
    if kind == "outlier":
        x[-1, -1, 0] = 100.0
    if kind == "one sign":
        x = np.stack([-np.abs(x[0]), np.abs(x[1])])
        x[0, 0, 0] = x[1, 0, -1] = 0.0
        x[1, 1] = 0.0, 2.0, -2.0, 0.0                # the first number is the mean, too
    return x, gain, bias, eps_of(draw, kind, sizes), upstream(draw, *x.shape)


def eps_of(draw, kind, sizes):
    if "eps" in sizes:
        return sizes["eps"]
    if kind == "least":
        return TINY
    return 0.1 if draw.first else float(draw.uniform(0.05, 0.3))


def compare_once_more(forward, value, x, *others):
    """Other answers for the same x, and for its rows in another order: what is kept of x alone is not enough."""
    x = np.round(4 * x)                              # whose sums are exact, in any order
    same("y", forward(x, *others)[0], value(x, *others), "bth")
    later = [2 * np.roll(other, 1) for other in others]
    with guessing("perhaps: something is kept from an earlier call with the same x, or with an x of the same sum"):
        for again in ((x, *later[:-1], 2 * others[-1]), (x[::-1].copy(), *others)):
            same("y of a later call", forward(*again)[0], value(*again), "bth")


def compare_normal(forward, value, centre=True):
    """Where a row is normal already, or nearly, y is a new array, and what the formula says."""
    x = np.stack([np.tile([1.0, -1.0], 2), np.tile([-1.0, 1.0], 2)])
    others = (np.ones(4), np.zeros(4), TINY) if centre else (np.ones(4), TINY)
    with guessing("perhaps: a row whose spread is nearly one is left as it is", few=x.size):
        for factor in (1.0, 1.0004):
            same("y of rows that are nearly normal", forward(factor * x, *others)[0], value(factor * x, *others))


def compare_small_rows(forward, backward, given, dy, y, dx):
    """The way back of small rows with the model's eps, or with none, where forward is right there."""
    *_, eps = given
    mine, cache = forward(*given)
    if alike(y, mine, LIMIT):
        guess = CUT_OFF if eps else "perhaps: an eps of 0 is taken for none, and another stands in its place"
        with guessing(guess):
            same(f"dx of small rows, eps being {eps:g},", backward(dy, cache)[0], dx, "bth", limit=1e-4)


def mean(x):
    return x.mean(axis=-1, keepdims=True)


def normalised(x, eps, centre=True):
    """xhat and rstd of layer norm, or of RMS norm, which leaves the mean where it is."""
    x = x - mean(x) if centre else x
    rstd = 1 / np.sqrt(mean(x * x) + eps)
    return x * rstd, rstd


def scale_law(x, gain, eps, dy, centre, spread):
    xhat, rstd = normalised(x, eps, centre)
    expected = (eps * rstd**3 * dy * gain * xhat).sum(axis=-1)
    return Law(SCALE.format(spread=spread), lambda dx: (dx * xhat).sum(axis=-1) - expected)


def chosen(pairs, place):
    return {says: pair[place] for says, pair in pairs.items()}


def per_feature(name, yours, expected, dy, per_row, suspects, follows=None):
    """A gradient of gain or bias, both of which every row uses: the sum over rows of dy times per_row."""
    shape = numbers(name, yours, expected.shape).shape
    if shape != expected.shape:
        causes = {
            dy.shape: "not summed: every row uses the same gain and bias, so their gradients are added up",
            dy.shape[:-1]: "summed over the last axis, where it must be over all others",
            dy.shape[1:]: "summed over the first axis alone: there are rows along the second one, too",
            (): "everything is summed; each feature has its own gradient" if len(expected) > 1 else DROPPED_AXIS,
        }
        raise Wrong(f"{name} has shape {shape}; it must be {expected.shape}", causes.get(shape))
    H = len(expected)
    parts = (dy * per_row).reshape(-1, H)
    B, T = dy.shape[0], len(parts) // dy.shape[0]

    def others():
        total = dy * per_row
        ways = suspects() | {"the mean over rows is taken, where the sum is meant": expected / len(parts)}
        for axis, size in (("the first axis", B), ("the second axis", T)):
            if 1 < size < len(parts):
                ways[f"the mean over {axis} is taken, where the sum is meant"] = expected / size
        first, last = total[0].reshape(-1, H).sum(axis=0), total[-1].reshape(-1, H).sum(axis=0)
        return ways | {
            "only the first row reached it": parts[0],
            "only the last row reached it: add, do not assign": parts[-1],
            "the first row is left out": expected - parts[0],
            "the last row is left out": expected - parts[-1],
            "only the first sequence reached it": first,
            "only the last sequence reached it: add, do not assign": last,
            "the first sequence is left out": expected - first,
            "the last sequence is left out": expected - last,
            "absolute values are added": np.abs(parts).sum(axis=0),
            "everything is summed; each feature has its own gradient": np.broadcast_to(expected.sum(), expected.shape),
        }  # fmt: skip

    matches(name, yours, expected, "h", others, follows=follows,
            given=(lambda dy, xhat: (dy * xhat).reshape(-1, H).sum(axis=0), {"dy": dy, "xhat": per_row}))  # fmt: skip


def unit(dx, x):
    """dx, so that its largest entry is one."""
    dx = numbers("dx", dx, x.shape).astype(float)
    if dx.shape != x.shape:
        raise Wrong(f"dx has shape {dx.shape}; it must be {x.shape}")
    size = np.abs(dx).max()
    if not 0 < size < np.inf:
        raise Wrong(f"the largest entry of dx is {size}", None if size else "zero obeys every law, but is no gradient")
    return dx / size


def or_forward(yours, forward, seen):
    """Return the text `seen`; where forward is not right yet, it adds that this may be the reason."""
    return f"{seen}, or the reason is {forward}, which is not right yet" if forward in yours.failed else seen


def obeyed(name, dx, vector, law):
    sums = np.abs((dx * vector).sum(axis=-1))
    if not sums.max() <= 1e-5 * dx.shape[-1]:
        raise Wrong(f"{name} is {sums.max():.3g} times the largest entry of dx; it must be zero", f"seen: {law}")


def ramps():
    """x, gain, bias, eps, dy of the checks with PyTorch's numbers"""
    x, dy = ramp(2, 3, 5, start=1, scale=2), ramp(2, 3, 5, start=4)
    return x, 1 + ramp(5, start=2, scale=0.5), ramp(5, start=3), 0.1, dy


def as_pytorch(function, names, answers):
    for name, answer in zip(names, answers, strict=True):
        of = f"{function}_{'forward' if name == 'y' else 'backward'}"
        agrees(f"{name} (PyTorch's numbers)", answer, outside_numbers("ex03")[f"{function}.{name}"], of)
