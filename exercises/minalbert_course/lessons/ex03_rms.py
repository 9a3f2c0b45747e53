"""The variant of exercise 3: RMS normalisation (Zhang and Sennrich, 2019, arXiv:1910.07467).

Its way back is nowhere in the library, nor here: the checks get their gradients from complex steps.
"""

import numpy as np

from minalbert.gradcheck.numeric import gradient, slope
from minalbert.layers import layer_norm_backward, layer_norm_forward

from ..compare import agrees, same
from ..lesson import Lesson
from .norms import TINY, as_pytorch, mean, normalised, obeyed, per_feature, point, ramps, scale_law, unit, unless_known

variant = Lesson(
    "ex03-rms", "RMS normalisation", minutes=60, variant_of="ex03",
    functions={"rms_norm_forward": "y, cache", "rms_norm_backward": "dx, dgain"},
    withheld=(layer_norm_forward, layer_norm_backward, slope, gradient),
)  # fmt: skip
LESSONS = [variant]

RMS = "y = gain xhat, xhat = x r, r = 1 / √(mean(x²) + eps), mean over the last axis"


def rms_value(x, gain, eps):
    return normalised(x, eps, centre=False)[0] * gain


def rms_gradients(yours, x, gain, eps, dy):
    _, cache = yours.rms_norm_forward(x, gain, eps)
    return yours.rms_norm_backward(dy, cache)


def rms_reference(x, gain, eps, dy):
    def loss(tensors):
        return (dy * rms_value(tensors["x"], tensors["gain"], eps)).sum()

    return [gradient(loss, {"x": x, "gain": gain}, name, "complex") for name in ("x", "gain")]


def rms_point(draw, *axes):
    x, gain, _, eps, dy = point(draw, *axes)
    return x, gain, eps, dy


@variant.check(2, "y", of="rms_norm_forward", formula=RMS)
def rms_forward(yours, draw):
    x, gain, eps, _ = rms_point(draw)
    y, _ = yours.rms_norm_forward(x, gain, eps)
    square = mean(x * x)
    suspects = {
        "eps is not added to the mean of squares": x / np.sqrt(square) * gain,
        "eps is added to the root, where it belongs under it": x / (np.sqrt(square) + eps) * gain,
        "the mean is subtracted, which is layer norm": normalised(x, eps)[0] * gain,
        "divided by the standard deviation: squares are taken of x itself here": x / np.sqrt(x.var(-1)[..., None] + eps)
            * gain,
        "a sum of squares, where their mean is meant": x / np.sqrt(square * x.shape[-1] + eps) * gain,
        "divided by the mean of squares, where it must be by its root": x / (square + eps) * gain,
        "the gain is not multiplied with": x / np.sqrt(square + eps),
        "squares are averaged over the first axis, where it must be the last":
            x / np.sqrt((x * x).mean(axis=0) + eps) * gain,
    }  # fmt: skip
    same("y", y, rms_value(x, gain, eps), "bth", suspects=suspects)


@variant.check(3, "dx", of="rms_norm_backward", formula=f"{RMS}; x_j reaches y_j directly, and every y_i through r")
def rms_input_gradient(yours, draw):
    given = x, gain, eps, dy = rms_point(draw)
    dx, _ = rms_gradients(yours, *given)
    expected = rms_reference(*given)[0]
    _, r = normalised(x, eps, centre=False)
    suspects = {
        "the gain is missing: g is dy gain": rms_reference(x, np.ones_like(gain), eps, dy)[0],
        "a factor r is missing": expected / r,
        "the way back of layer norm: no mean was subtracted here, so none comes back": expected - r * mean(dy * gain),
        "only the direct path: x_j also changes r, and with it every entry of its row": dy * gain * r,
    }
    laws = (scale_law(x, gain, eps, dy, False, "mean of squares"),)
    same("dx", dx, expected, "bth", laws=unless_known(dx, expected, laws, suspects), suspects=suspects)


@variant.check(1, "a law", of="rms_norm_backward", formula="eps → 0: Σ_j dx_j x_j = 0 of each row")
def rms_law(yours, draw):
    x, gain, _, dy = rms_point(draw)
    dx, _ = rms_gradients(yours, x, gain, TINY, dy)
    xhat, _ = normalised(x, TINY, centre=False)
    cause = "scaling a row of x changes nothing; usually the path through the mean of squares is missing"
    obeyed("Σ_j dx_j xhat_j", unit(dx, x), xhat, cause)


@variant.check(2, "dgain", of="rms_norm_backward", formula="dgain = Σ over rows of dy times what gain multiplies")
def rms_gain_gradient(yours, draw):
    x, gain, _, dy = rms_point(draw)
    _, dgain = rms_gradients(yours, x, gain, TINY, dy)
    rows = tuple(range(x.ndim - 1))
    suspects = {
        "with x, where xhat = x r is meant": (dy * x).sum(axis=rows),
        "with y, where xhat = x r is meant": (dy * rms_value(x, gain, TINY)).sum(axis=rows),
    }
    per_feature("dgain", dgain, rms_reference(x, gain, TINY, dy)[1], dy, suspects)


@variant.check(0.5, "other leading axes", of="rms_norm_backward", formula="x: (..., H), whatever stands for the dots")
def rms_leading_axes(yours, draw):
    for axes in ((5,), (3, 2, 2)):
        x, gain, _, dy = rms_point(draw, *axes)
        given = x, gain, TINY, dy
        y, _ = yours.rms_norm_forward(*given[:3])
        agrees(f"y for x of shape {x.shape}", y, rms_value(*given[:3]), "rms_norm_forward")
        for name, mine, right in zip(("dx", "dgain"), rms_gradients(yours, *given), rms_reference(*given), strict=True):
            agrees(f"{name} for x of shape {x.shape}", mine, right, "rms_norm_backward")


@variant.check(1, "as PyTorch", of="rms_norm_backward", formula="PyTorch's rms_norm and its autograd")
def rms_outside(yours, draw):
    x, gain, _, eps, dy = ramps()
    answers = yours.rms_norm_forward(x, gain, eps)[0], *rms_gradients(yours, x, gain, eps, dy)
    as_pytorch("rms_norm", ("y", "dx", "dgain"), answers)


@variant.check(0.5, "inputs untouched", of="rms_norm_forward")
def rms_purity(yours, draw):
    rms_gradients(yours, *rms_point(draw))
    yours.untouched()
