"""The variant of exercise 3: RMS normalisation (Zhang and Sennrich, 2019, arXiv:1910.07467).

Its way back is nowhere in the library, nor here: the checks get their gradients from complex steps.
"""

import numpy as np

from minalbert.gradcheck.numeric import gradient, slope
from minalbert.layers import layer_norm_backward, layer_norm_forward

from ...compare import agrees
from ...lesson import Lesson
from ...remembered import remembered
from ..corners import MANY, Corner, also, something
from ..matches import matches
from .norms import (
    NO_EPS,
    ONE_SIGN,
    ROWS,
    SMALL_EPS,
    TINY,
    as_pytorch,
    chosen,
    compare_normal,
    compare_once_more,
    compare_small_rows,
    mean,
    normalised,
    obeyed,
    or_forward,
    per_feature,
    point,
    ramps,
    scale_law,
    unit,
)
from .wrong_norms import eps_found, followed_rms, wrong_rms_gradients, wrong_rms_values


def rms_value(x, gain, eps):
    return normalised(x, eps, centre=False)[0] * gain


@remembered
def rms_reference(x, gain, eps, dy):
    def loss(tensors):
        return (dy * rms_value(tensors["x"], tensors["gain"], eps)).sum()

    return [gradient(loss, {"x": x, "gain": gain}, name, "complex") for name in ("x", "gain")]


def rms_norm_forward(x, gain, eps):
    return rms_value(x, gain, eps), (x, gain, eps)


def rms_norm_backward(dy, cache):
    return rms_reference(*cache, dy)


variant = Lesson(
    "ex03-rms", "RMS normalisation", minutes=60, variant_of="ex03",
    functions={"rms_norm_forward": "y, cache", "rms_norm_backward": "dx, dgain"},
    withheld=(layer_norm_forward, layer_norm_backward, slope, gradient),
    references={"rms_norm_forward": rms_norm_forward, "rms_norm_backward": rms_norm_backward},
    own_results=("rms_norm_forward", "rms_norm_backward"),
)  # fmt: skip

RMS = "y = gain xhat, xhat = x r, r = 1 / √(mean(x²) + eps), mean over the last axis"


def rms_gradients(yours, x, gain, eps, dy):
    return yours.forward_and_back("rms_norm", dy, x, gain, eps)


def rms_point(draw, *axes):
    x, gain, _, eps, dy = point(draw, *axes)
    return x, gain, eps, dy


@variant.check(2, "y", of="rms_norm_forward", formula=RMS)
@also(*ROWS, *SMALL_EPS, NO_EPS, ONE_SIGN)
def rms_forward(yours, draw):
    x, gain, eps, _ = rms_point(draw)
    y, _ = yours.rms_norm_forward(x, gain, eps)
    given = rms_value, {"x": x, "gain": gain, "eps": eps}
    eps_factor = eps_found(x, gain, 0.0, eps, centre=False)
    right = rms_value(x, gain, eps)
    matches("y", y, right, "bth", lambda: wrong_rms_values(*given[1].values()), found=eps_factor, given=given)
    if draw.first:
        compare_once_more(yours.rms_norm_forward, rms_value, x, gain, eps)
        compare_normal(yours.rms_norm_forward, rms_value, centre=False)


@variant.check(3, "dx", of="rms_norm_backward", formula=f"{RMS}; x_j reaches y_j directly, and every y_i through r")
@also(*ROWS, ONE_SIGN)
def rms_input_gradient(yours, draw):
    given = x, gain, eps, dy = rms_point(draw)
    dx, _ = rms_gradients(yours, *given)
    expected = rms_reference(*given)[0]
    xhat, r = normalised(x, eps, centre=False)
    g = dy * gain
    terms = {
        "the direct path, r g,": r * g,
        "the path through r, - r xhat mean(g xhat),": -r * xhat * mean(g * xhat),
    }
    laws = (scale_law(x, gain, eps, dy, False, "mean of squares"),)
    matches("dx", dx, expected, "bth", lambda: wrong_rms_gradients(expected, *given), lambda: terms, laws=laws,
            natural=np.abs(r * g).max(), follows=lambda: chosen(followed_rms(*given), 0), given=(
                lambda **given: rms_reference(**given)[0], {"x": x, "gain": gain, "eps": eps, "dy": dy}))  # fmt: skip
    if draw.first:
        for small in ((1e-3 * x, gain, TINY), (1e-5 * x, gain, 0.0)):
            compare_small_rows(yours.rms_norm_forward, yours.rms_norm_backward, small, dy, rms_value(*small),
                               rms_reference(*small, dy)[0])  # fmt: skip


@variant.check(1, "a law", of="rms_norm_backward", formula="eps → 0: Σ_j dx_j x_j = 0 of each row")
def rms_law(yours, draw):
    x, gain, _, dy = rms_point(draw)
    x *= 0.1                                         # beside which an eps of 1e-6 is seen
    dx, _ = rms_gradients(yours, x, gain, TINY, dy)
    xhat, _ = normalised(x, TINY, centre=False)
    seen = "scaling a row of x changes nothing. Perhaps the path through the mean of squares is missing"
    obeyed("Σ_j dx_j xhat_j", unit(dx, x), xhat, or_forward(yours, "rms_norm_forward", seen))


@variant.check(2, "dgain", of="rms_norm_backward", formula="dgain = Σ over rows of dy times what gain multiplies")
@also(*ROWS, ONE_SIGN)
def rms_gain_gradient(yours, draw):
    x, gain, _, dy = rms_point(draw)
    _, dgain = rms_gradients(yours, x, gain, TINY, dy)
    rows = tuple(range(x.ndim - 1))
    xhat, r = normalised(x, TINY, centre=False)

    def suspects():
        ways = {"x": x, "y": gain * xhat, "xhat r": xhat * r, "xhat / gain": xhat / gain, "xhat²": xhat**2,
                "|xhat|": np.abs(xhat), "x - mean": x - mean(x), "1": np.ones_like(x)}  # fmt: skip
        return {f"with {other}, where xhat is meant": (dy * array).sum(axis=rows) for other, array in ways.items()}

    per_feature("dgain", dgain, rms_reference(x, gain, TINY, dy)[1], dy, xhat, suspects,
                lambda: chosen(followed_rms(x, gain, TINY, dy), 1))  # fmt: skip


@variant.check(0.5, "other leading axes", of="rms_norm_backward", formula="x: (..., H), whatever stands for the dots")
def rms_leading_axes(yours, draw):
    for axes in ((5,), (3, 2, 2), (2, 1, 1, 2)):
        x, gain, _, dy = rms_point(draw, *axes)
        x[-1] = x[0]                                 # equal rows count each
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
@also(Corner(B=1, T=1), Corner(B=1, T=MANY // 6, H=6))
def rms_purity(yours, draw):
    x, gain, eps, dy = rms_point(draw)
    dx, dgain = rms_gradients(yours, x, gain, eps, dy)
    something(y=yours.rms_norm_forward(x, gain, eps)[0], dx=dx, dgain=dgain)
    yours.untouched()
