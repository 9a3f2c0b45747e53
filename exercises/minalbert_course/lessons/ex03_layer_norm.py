"""Exercise 3: layer normalisation; a term may set RMS normalisation in its place."""

import numpy as np

from minalbert.gradcheck.diagnose import Law
from minalbert.layers import layer_norm_backward, layer_norm_forward

from ..compare import Wrong, agrees, same
from ..lesson import Lesson
from .norms import (
    SHIFT,
    TINY,
    as_pytorch,
    mean,
    normalised,
    obeyed,
    per_feature,
    point,
    ramps,
    scale_law,
    unit,
    unless_known,
)

lesson = Lesson(
    "ex03", "layer normalisation", minutes=75,
    functions={"layer_norm_forward": "y, cache", "layer_norm_backward": "dx, dgain, dbias"},
    withheld=(layer_norm_forward, layer_norm_backward),
)  # fmt: skip
LESSONS = [lesson]


def gradients_of(yours, x, gain, bias, eps, dy):
    _, cache = yours.layer_norm_forward(x, gain, bias, eps)
    return yours.layer_norm_backward(dy, cache)


def reference(x, gain, bias, eps, dy):
    y, cache = layer_norm_forward(x, gain, bias, eps)
    return y, layer_norm_backward(dy, cache)


FORWARD = "y = gain xhat + bias, xhat = (x - mean) r, r = 1 / √(mean((x - mean)²) + eps)"
BACKWARD = "dx = r (g - mean(g) - xhat mean(g xhat)), with g = dy gain and means over the last axis"


@lesson.check(2, "y", of="layer_norm_forward", formula=FORWARD)
def value(yours, draw):
    given = x, gain, bias, eps, _ = point(draw)
    y, _ = yours.layer_norm_forward(*given[:4])
    xhat, _ = normalised(x, eps)
    centred, H = x - mean(x), x.shape[-1]
    variance = mean(centred**2)
    first = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps)
    suspects = {
        "eps is not added to the variance": centred / np.sqrt(variance) * gain + bias,
        "eps is added to the root, where it belongs under it": centred / (np.sqrt(variance) + eps) * gain + bias,
        "the variance is divided by H - 1, where it must be by H":
            centred / np.sqrt(variance * H / (H - 1) + eps) * gain + bias,
        "divided by the variance, where it must be by its root": centred / (variance + eps) * gain + bias,
        "the gain is not multiplied with": xhat + bias,
        "the bias is not added": xhat * gain,
        "the mean is not subtracted": x / np.sqrt(variance + eps) * gain + bias,
        "normalised over the first axis, where it must be the last": first * gain + bias,
    }  # fmt: skip
    same("y", y, reference(*given)[0], "bth", suspects=suspects)


@lesson.check(0.5, "far from zero", of="layer_norm_forward", formula=f"{FORWARD}: first subtract, then square")
def far(yours, draw):
    x, gain, bias, _, _ = point(draw)
    x = x + 1e7
    y, _ = yours.layer_norm_forward(x, gain, bias, TINY)
    try:
        same("y of numbers near ten million", y, reference(x, gain, bias, TINY, x)[0], "bth")
    except Wrong as error:
        raise Wrong(error.seen, "if y passes its check: mean(x²) - mean(x)² subtracts two numbers near 1e14, and what "
                    "they differ by is lost in rounding; subtract the mean before you square") from None  # fmt: skip


@lesson.check(2, "dx", of="layer_norm_backward", formula=BACKWARD)
def input_gradient(yours, draw):
    given = x, gain, _, eps, dy = point(draw)
    dx, _, _ = gradients_of(yours, *given)
    laws = Law(SHIFT, lambda dx: dx.sum(axis=-1)), scale_law(x, gain, eps, dy, True, "variance")
    expected = reference(*given)[1][0]
    xhat, rstd = normalised(x, eps)
    g = dy * gain
    suspects = {
        "the gain is missing: g is dy gain": reference(x, np.ones_like(gain), x[0, 0], eps, dy)[1][0],
        "the factor r is missing": expected / rstd,
        "mean(g xhat) is a mean over the wrong axis": rstd * (g - mean(g) - xhat * (g * xhat).mean(axis=0)),
    }
    same("dx", dx, expected, "bth", laws=unless_known(dx, expected, laws, suspects), suspects=suspects)


@lesson.check(1, "two laws", of="layer_norm_backward", formula="eps → 0: Σ_j dx_j = Σ_j dx_j xhat_j = 0 in each row")
def laws(yours, draw):
    x, gain, bias, _, dy = point(draw)
    dx, _, _ = gradients_of(yours, x, gain, bias, TINY, dy)
    dx = unit(dx, x)
    xhat, _ = normalised(x, TINY)
    obeyed("Σ_j dx_j", dx, np.ones_like(x), SHIFT)
    cause = "scaling a row of x changes nothing; usually the path through the variance is missing"
    obeyed("Σ_j dx_j xhat_j", dx, xhat, cause)


@lesson.check(1.5, "dgain", of="layer_norm_backward", formula="dgain = Σ over rows of dy xhat")
def gain_gradient(yours, draw):
    x, gain, bias, _, dy = point(draw)
    _, dgain, _ = gradients_of(yours, x, gain, bias, TINY, dy)
    rows = tuple(range(x.ndim - 1))
    xhat, _ = normalised(x, TINY)
    suspects = {
        "with x, where xhat is meant": (dy * x).sum(axis=rows),
        "with x - mean, where xhat is meant": (dy * (x - mean(x))).sum(axis=rows),
        "with y, where xhat is meant": (dy * (gain * xhat + bias)).sum(axis=rows),
        "with gain xhat, where xhat is meant": (dy * gain * xhat).sum(axis=rows),
    }
    per_feature("dgain", dgain, reference(x, gain, bias, TINY, dy)[1][1], dy, suspects)


@lesson.check(1, "dbias", of="layer_norm_backward", formula="dbias = Σ over rows of dy")
def bias_gradient(yours, draw):
    given = _, gain, _, _, dy = point(draw)
    _, _, dbias = gradients_of(yours, *given)
    expected = reference(*given)[1][2]
    per_feature("dbias", dbias, expected, dy, {"multiplied with the gain, which bias does not pass": expected * gain})


@lesson.check(0.5, "other leading axes", of="layer_norm_backward", formula="x: (..., H), whatever stands for the dots")
def leading_axes(yours, draw):
    for axes in ((5,), (3, 2, 4)):
        x, gain, bias, _, dy = point(draw, *axes)
        given = x, gain, bias, TINY, dy
        y, _ = yours.layer_norm_forward(*given[:4])
        expected, right = reference(*given)
        agrees(f"y for x of shape {x.shape}", y, expected, "layer_norm_forward")
        for name, mine, answer in zip(("dx", "dgain", "dbias"), gradients_of(yours, *given), right, strict=True):
            agrees(f"{name} for x of shape {x.shape}", mine, answer, "layer_norm_backward")


@lesson.check(1, "as PyTorch", of="layer_norm_backward", formula="PyTorch's layer_norm and its autograd")
def outside(yours, draw):
    given = ramps()
    answers = yours.layer_norm_forward(*given[:4])[0], *gradients_of(yours, *given)
    as_pytorch("layer_norm", ("y", "dx", "dgain", "dbias"), answers)


@lesson.check(0.5, "inputs untouched", of="layer_norm_forward")
def purity(yours, draw):
    gradients_of(yours, *point(draw))
    yours.untouched()
