"""Exercise 3: layer normalisation; a term may set RMS normalisation in its place."""

import numpy as np

from minalbert.gradcheck.diagnose import Law
from minalbert.layers import layer_norm_backward, layer_norm_forward

from ...alike import alike
from ...compare import LIMIT, Wrong, agrees, same
from ...lesson import Lesson
from ...values import NotWritten, Stopped
from ..corners import MANY, Corner, also, guessing, something
from ..matches import matches
from .norms import (
    NO_EPS,
    ONE_SIGN,
    ROWS,
    SHIFT,
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
from .wrong_norms import eps_found, followed, wrong_gradients, wrong_values

lesson = Lesson(
    "ex03", "layer normalisation", minutes=75,
    functions={"layer_norm_forward": "y, cache", "layer_norm_backward": "dx, dgain, dbias"},
    withheld=(layer_norm_forward, layer_norm_backward),
    own_results=("layer_norm_forward", "layer_norm_backward"),
)  # fmt: skip


def gradients_of(yours, x, gain, bias, eps, dy):
    return yours.forward_and_back("layer_norm", dy, x, gain, bias, eps)


def reference(x, gain, bias, eps, dy):
    y, cache = layer_norm_forward(x, gain, bias, eps)
    return y, layer_norm_backward(dy, cache)


def named(*given):
    return dict(zip(("x", "gain", "bias", "eps", "dy"), given, strict=False))


FORWARD = "y = gain xhat + bias, xhat = (x - mean) r, r = 1 / √(mean((x - mean)²) + eps)"
BACKWARD = "dx = r (g - mean(g) - xhat mean(g xhat)), with g = dy gain and means over the last axis"


@lesson.check(2, "y", of="layer_norm_forward", formula=FORWARD)
@also(*ROWS, *SMALL_EPS, NO_EPS, ONE_SIGN)
def value(yours, draw):
    given = x, gain, bias, eps, _ = point(draw)
    y, _ = yours.layer_norm_forward(*given[:4])
    xhat, _ = normalised(x, eps)
    terms = {"gain xhat": gain * xhat, "bias": np.broadcast_to(bias, x.shape)}
    matches("y", y, reference(*given)[0], "bth", lambda: wrong_values(x, gain, bias, eps), lambda: terms,
            eps_found(x, gain, bias, eps), given=(lambda **given: reference(**given, dy=x)[0],
                                                  named(*given[:4])))  # fmt: skip
    if draw.first:
        compare_once_more(yours.layer_norm_forward, lambda *given: reference(*given, x)[0], *given[:4])
        compare_normal(yours.layer_norm_forward, lambda *given: reference(*given, given[0])[0])


@lesson.check(0.5, "far from zero", of="layer_norm_forward", formula=f"{FORWARD}: first subtract, then square")
def far(yours, draw):
    x, gain, bias, _, dy = point(draw)
    away = 1e7 * (-1.0) ** np.arange(x[..., :1].size).reshape(*x.shape[:-1], 1)   # to both sides, row by row
    x = x + away
    y, _ = yours.layer_norm_forward(x, gain, bias, TINY)
    name = "y of numbers near ten million"
    near, _ = yours.layer_norm_forward(x - away, gain, bias, TINY)
    try:
        same(name, y, reference(x, gain, bias, TINY, x)[0], "bth")
    except Wrong as error:
        try:
            same(name, near, reference(x - away, gain, bias, TINY, x)[0])
        except Wrong:
            raise Wrong(error.seen, "seen: other numbers are wrong, too") from None
        raise Wrong(error.seen, "perhaps: mean(x²) - mean(x)² subtracts two numbers near 1e14, and what they differ by "
                    "is lost in rounding; subtract each row's own mean before you square") from None  # fmt: skip
    compare_far_back(yours, x - away, x, gain, bias, TINY, dy)


def compare_far_back(yours, x_near, x_far, *others):
    """Compare dx far from zero, if it is right near zero; if not, other checks say what is wrong."""
    try:
        usual, _, _ = gradients_of(yours, x_near, *others)
    except (NotWritten, Stopped, Wrong):
        return
    if alike(reference(x_near, *others)[1][0], usual, LIMIT):
        right = reference(x_far, *others)[1][0]
        with guessing("perhaps: what backward takes of x, or computes again, is a difference of two numbers near 1e14"):
            dx, _, _ = gradients_of(yours, x_far, *others)
            agrees("dx of numbers near ten million", dx, right, "layer_norm_backward")


@lesson.check(2, "dx", of="layer_norm_backward", formula=BACKWARD)
@also(*ROWS, ONE_SIGN)
def input_gradient(yours, draw):
    given = x, gain, _, eps, dy = point(draw)
    dx, _, _ = gradients_of(yours, *given)
    laws = Law(SHIFT, lambda dx: dx.sum(axis=-1)), scale_law(x, gain, eps, dy, True, "variance")
    expected = reference(*given)[1][0]
    xhat, r = normalised(x, eps)
    g = dy * gain
    terms = {
        "the direct path, r g,": r * g,
        "the path through the mean, - r mean(g),": -r * np.broadcast_to(mean(g), x.shape),
        "the path through the variance, - r xhat mean(g xhat),": -r * xhat * mean(g * xhat),
    }
    matches("dx", dx, expected, "bth", lambda: wrong_gradients(expected, x, gain, eps, dy), lambda: terms, laws=laws,
            natural=np.abs(r * g).max(), follows=lambda: chosen(followed(x, gain, eps, dy), 0),
            given=(lambda **given: reference(**given)[1][0], named(*given)))  # fmt: skip
    if draw.first:
        for size, eps in ((1e-3, TINY), (1e-5, 0.0)):
            small = size * x, *given[1:3], eps
            y, gradients = reference(*small, dy)
            compare_small_rows(yours.layer_norm_forward, yours.layer_norm_backward, small, dy, y, gradients[0])


@lesson.check(1, "two laws", of="layer_norm_backward", formula="eps → 0: Σ_j dx_j = Σ_j dx_j xhat_j = 0 in each row")
def laws(yours, draw):
    x, gain, bias, _, dy = point(draw)
    dx, _, _ = gradients_of(yours, x, gain, bias, TINY, dy)
    dx = unit(dx, x)
    xhat, _ = normalised(x, TINY)
    cause = "scaling a row of x changes nothing. Perhaps the path through the variance is missing"
    for name, vector, seen in (("Σ_j dx_j", np.ones_like(x), SHIFT), ("Σ_j dx_j xhat_j", xhat, cause)):
        obeyed(name, dx, vector, or_forward(yours, "layer_norm_forward", seen))


@lesson.check(1.5, "dgain", of="layer_norm_backward", formula="dgain = Σ over rows of dy xhat")
@also(*ROWS, ONE_SIGN)
def gain_gradient(yours, draw):
    x, gain, bias, _, dy = point(draw)
    _, dgain, _ = gradients_of(yours, x, gain, bias, TINY, dy)
    xhat, r = normalised(x, TINY)
    rows = tuple(range(x.ndim - 1))

    def suspects():
        ways = {"x": x, "x - mean": x - mean(x), "y": gain * xhat + bias, "gain xhat": gain * xhat, "xhat r": xhat * r,
                "xhat + bias": xhat + bias, "xhat / gain": xhat / gain, "xhat²": xhat**2, "|xhat|": np.abs(xhat),
                "x r": x * r, "1": np.ones_like(x)}  # fmt: skip
        return {f"with {other}, where xhat is meant": (dy * array).sum(axis=rows) for other, array in ways.items()}

    per_feature("dgain", dgain, reference(x, gain, bias, TINY, dy)[1][1], dy, xhat, suspects,
                lambda: chosen(followed(x, gain, TINY, dy), 1))  # fmt: skip


@lesson.check(1, "dbias", of="layer_norm_backward", formula="dbias = Σ over rows of dy")
@also(*ROWS, ONE_SIGN)
def bias_gradient(yours, draw):
    given = x, gain, bias, eps, dy = point(draw)
    _, _, dbias = gradients_of(yours, *given)
    expected = reference(*given)[1][2]
    rows = tuple(range(x.ndim - 1))

    def suspects():
        return {
            "multiplied with the gain, which bias does not pass": expected * gain,
            "multiplied with the bias, on which its gradient does not depend": expected * bias,
            "this is dgain: bias comes last": (dy * normalised(x, eps)[0]).sum(axis=rows),
            "multiplied with x, which bias does not pass": (dy * x).sum(axis=rows),
        }

    per_feature("dbias", dbias, expected, dy, 1.0, suspects)


@lesson.check(0.5, "other leading axes", of="layer_norm_backward", formula="x: (..., H), whatever stands for the dots")
def leading_axes(yours, draw):
    for axes in ((5,), (3, 2, 4), (2, 1, 3, 2), (80,)):
        x, gain, bias, _, dy = point(draw, *axes)
        x[-1] = x[0]                                 # equal rows count each
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
@also(Corner(B=1, T=1), Corner(B=1, T=MANY // 6, H=6))
def purity(yours, draw):
    given = point(draw)
    dx, dgain, dbias = gradients_of(yours, *given)
    something(y=yours.layer_norm_forward(*given[:4])[0], dx=dx, dgain=dgain, dbias=dbias)
    yours.untouched()
