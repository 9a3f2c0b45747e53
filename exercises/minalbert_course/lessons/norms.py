"""What the checks of exercise 3 and of its variant share."""

import numpy as np

from minalbert.gradcheck.diagnose import Law

from ..compare import Wrong, agrees, numbers, same
from ..outside import numbers as outside_numbers
from ..outside import ramp

TINY = 1e-12                                         # the model's eps; elsewhere it is about 0.1, where it is seen
SHIFT = (
    "the rows of dx do not sum to zero, as they must: adding a constant to a row of x changes nothing. Usually the "
    "path through the mean is missing, or that mean is taken of dy instead of g = dy gain, or over another axis"
)
SCALE = (
    "Σ_j dx_j xhat_j of a row is not eps r³ Σ_j g_j xhat_j, as it must be, and nearly zero: scaling a row of x "
    "changes next to nothing. If y is right, the path through the {spread} is missing, or has another factor"
)


def point(draw, *axes):
    """x, gain, bias, eps, dy; x: (B, T, H), or (*axes, H)"""
    B, T, H = draw.sizes(B=2, T=3, H=6, least=3)
    x = 2 * draw.normal(*(axes or (B, T)), H) + 1
    gain, bias = draw.gain(x.shape[-1]), draw.normal(x.shape[-1])
    return x, gain, bias, 0.1 if draw.first else float(draw.uniform(0.05, 0.3)), draw.normal(*x.shape)


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


def unless_known(dx, expected, laws, suspects):
    """The laws, or none if dx is one of the suspects, which say more."""
    dx = numbers("dx", dx, expected.shape)
    alike = dx.shape == expected.shape and any(
        np.abs(dx - suspect).max() <= 1e-5 * np.abs(suspect).max() for suspect in suspects.values()
    )
    return () if alike else laws


def per_feature(name, yours, expected, dy, suspects):
    """A gradient of gain or bias, both of which every row uses."""
    shape = numbers(name, yours, expected.shape).shape
    if shape != expected.shape:
        causes = {
            dy.shape: "not summed: every row uses the same gain and bias, so their gradients are added up",
            dy.shape[:-1]: "summed over the last axis, where it must be over all others",
            dy.shape[1:]: "summed over the first axis alone: there are rows along the second one, too",
            (): "everything is summed; each feature has its own gradient",
        }
        raise Wrong(f"{name} has shape {shape}; it must be {expected.shape}", causes.get(shape))
    rows = dy.size // len(expected)
    suspects = suspects | {"the mean over rows is taken, where the sum is meant": expected / rows}
    same(name, yours, expected, "h", suspects=suspects)


def unit(dx, x):
    """dx, so that its largest entry is one."""
    dx = numbers("dx", dx, x.shape).astype(float)
    if dx.shape != x.shape:
        raise Wrong(f"dx has shape {dx.shape}; it must be {x.shape}")
    size = np.abs(dx).max()
    if not 0 < size < np.inf:
        raise Wrong(f"the largest entry of dx is {size}", None if size else "zero obeys every law, but is no gradient")
    return dx / size


def obeyed(name, dx, vector, cause):
    sums = np.abs((dx * vector).sum(axis=-1))
    if not sums.max() <= 1e-5 * dx.shape[-1]:
        raise Wrong(f"{name} is {sums.max():.3g} times the largest entry of dx; it must be zero", cause)


def ramps():
    """x, gain, bias, eps, dy of the checks with PyTorch's numbers"""
    x, dy = ramp(2, 3, 5, start=1, scale=2), ramp(2, 3, 5, start=4)
    return x, 1 + ramp(5, start=2, scale=0.5), ramp(5, start=3), 0.1, dy


def as_pytorch(function, names, answers):
    for name, answer in zip(names, answers, strict=True):
        of = f"{function}_{'forward' if name == 'y' else 'backward'}"
        agrees(f"{name} (PyTorch's numbers)", answer, outside_numbers("ex03")[f"{function}.{name}"], of)
