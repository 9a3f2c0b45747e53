"""Exercise 4 with GELU in its erf form."""

import math
from contextlib import suppress

import numpy as np

from minalbert.layers import gelu_backward, gelu_erf_backward, gelu_erf_forward, gelu_forward
from minalbert.layers.erf import erf

from ...compare import Wrong, same
from ...lesson import Lesson
from ...outside import numbers, ramp
from ...values import NotWritten, Stopped
from ..corners import also, something
from ..matches import matches
from .points import FAR_OUT, NEAR_OR_FAR, SHAPES, all_open, beside_large, compared, far, far_out, point, with_many
from .wrong_gates import NO_DY, cdf, half_multiplied, of_erf, pdf, slopes_of_erf

variant = Lesson(
    "ex04-erf", "GELU with the error function", minutes=40, variant_of="ex04",
    functions={
        "Phi": "p",
        "phi": "p",
        "gelu_erf_forward": "y, cache",
        "gelu_erf_backward": "dx",
    },
    withheld=(gelu_forward, gelu_backward, gelu_erf_forward, gelu_erf_backward),
    references={"Phi": cdf, "phi": pdf},
    own_results=("Phi", "phi", "gelu_erf_forward", "gelu_erf_backward"),
)  # fmt: skip

TAIL = np.linspace(5.2, 8.0, 7)
NEARLY_SHUT = np.linspace(-5.6, -5.01, 4)


def not_shut(name, yours, right):
    """Far below zero there is little, which float32 rounds to a fifth, but not nothing. right: for NEARLY_SHUT"""
    cut = {f"beyond some number {name} is 0": 0 * NEARLY_SHUT}
    same(f"{name} for x of -5.6 to -5", yours, right, suspects=cut, limit=0.5)


@variant.check(1.5, "Phi", of="Phi", formula="Φ(x) = ½ (1 + erf(x / √2))")
@also(*SHAPES)
def Phi_value(yours, draw):
    x, _ = point(draw)
    terms = {"½": np.full_like(x, 0.5), "½ erf(x / √2)": erf(x / math.sqrt(2)) / 2}
    matches("Φ", yours.Phi(x), cdf(x), "btk", lambda: of_erf(x), lambda: terms, given=(cdf, {"x": x}))
    for name, other, limit in far(x):
        compared(f"Φ {name}", other, yours.Phi(other), cdf(other), limit)
    not_shut("Φ", yours.Phi(NEARLY_SHUT), cdf(NEARLY_SHUT))
    if draw.first:
        beside_large("Φ", "Phi", yours.Phi)


@variant.check(1.5, "phi", of="phi", formula="φ(x) = exp(-x²/2) / √(2π), the derivative of Φ")
@also(*SHAPES)
def phi_value(yours, draw):
    x, _ = point(draw)
    known = {"√(2π)": math.sqrt(2 * math.pi), "√2": math.sqrt(2), "√π": math.sqrt(math.pi), "2": 2.0}
    root = math.sqrt(2 * math.pi)
    suspects = {
        "this is exp(-x²) / √(2π): the ½ in the exponent is missing": np.exp(-x * x) / root,
        "this is exp(-x²) / √π: the slope of erf(x) / 2, without the √2 inside": np.exp(-x * x) / math.sqrt(math.pi),
        "this is exp(-x² / 4) / √(2π): the exponent is -x² / 2": np.exp(-x * x / 4) / root,
        "this is exp(-2 x²) / √(2π): the exponent is -x² / 2": np.exp(-x * x * 2) / root,
        "the sign in the exponent is missing": np.exp(x * x / 2) / root,
        "x is not squared": np.exp(-x / 2) / root,
        "|x| is used where x² is meant": np.exp(-np.abs(x) / 2) / root,
        "this is the exponent alone: exp is missing": -x * x / 2 / root,
        "this is Φ, not its derivative": cdf(x),
        "this is the derivative of φ": -x * pdf(x),
    }
    matches("φ", yours.phi(x), pdf(x), "btk", lambda: suspects, known=known, given=(pdf, {"x": x}))
    cut = {"beyond some number φ is 0": 0 * TAIL}
    same("φ for x of 5.2 to 8", yours.phi(TAIL), pdf(TAIL), suspects=cut, limit=1e-4)
    for name, other, limit in far(x):
        compared(f"φ {name}", other, yours.phi(other), pdf(other), limit)
    if draw.first:
        beside_large("φ", "phi", yours.phi)


@variant.check(2, "GELU", of="gelu_erf_forward", formula="y = x Φ(x)")
@also(*SHAPES)
def erf_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.gelu_erf_forward(x)
    wrong = {
        "this is the tanh form, which differs by up to 4.7e-4; asked is x Φ(x)": gelu_forward(x)[0],
        "the factor x is missing: this is Φ(x) alone": cdf(x),
        "this is x φ(x): the density, not the distribution Φ": x * pdf(x),
        "this is x + Φ(x)": x + cdf(x),
        "this is x² Φ(x)": x * x * cdf(x),
        "this is |x| Φ(x)": np.abs(x) * cdf(x),
        "this is x (1 - Φ(x))": x * (1 - cdf(x)),
        "negative x are cut off before": np.maximum(x, 0) * cdf(x),
    }

    def suspects():
        return wrong | {says: x * gate for says, gate in of_erf(x).items()}

    terms = {"½ x": x / 2, "½ x erf(x / √2)": x * erf(x / math.sqrt(2)) / 2}
    matches("y", y, x * cdf(x), "btk", suspects, lambda: terms, given=(lambda x: x * cdf(x), {"x": x}))
    for name, other, limit in far(x):
        y, _ = yours.gelu_erf_forward(other)
        compared(f"y {name}", other, y, other * cdf(other), limit)
    y, _ = yours.gelu_erf_forward(NEARLY_SHUT)
    with suppress(NotWritten, Stopped):              # Φ has a check of its own
        if np.array_equal(y, NEARLY_SHUT * yours.Phi(NEARLY_SHUT)):
            return
    not_shut("y", y, NEARLY_SHUT * cdf(NEARLY_SHUT))


@variant.check(3.5, "GELU dx", of="gelu_erf_backward", formula="dx = dy (Φ(x) + x φ(x))")
@also(*SHAPES)
def erf_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_erf_forward(x)
    slope = cdf(x) + x * pdf(x)
    terms = {"Φ(x)": dy * cdf(x), "x φ(x)": dy * x * pdf(x)}
    suspects = {NO_DY: slope, "this is the derivative of the tanh form, which differs by up to a thousandth; forward "
                "is x Φ(x)": gelu_backward(dy, (x,))[0]}  # fmt: skip
    suspects |= half_multiplied(dy, ("Φ(x)", cdf(x)), ("x φ(x)", x * pdf(x)))

    def follows():
        return {says: dy * (gate + x * pdf(x)) for says, gate in of_erf(x).items()}

    ways = {says: dy * other for says, other in slopes_of_erf(x).items()}
    dx = yours.gelu_erf_backward(dy, cache)
    matches("dx", dx, dy * slope, "btk", lambda: suspects | ways, lambda: terms, follows=follows,
            given=(lambda dy, x: dy * (cdf(x) + x * pdf(x)), {"dy": dy, "x": x}))  # fmt: skip
    for name, other, limit in far(x):
        dx, slope = yours.forward_and_back("gelu_erf", np.asarray(other + 7), other), cdf(other) + other * pdf(other)
        try:
            compared(f"dx {name}", other, dx, (other + 7) * slope, limit)
        except Wrong:
            if limit != NEAR_OR_FAR or not follows_own(yours, other, dx):
                raise


def follows_own(yours, x, dx):
    """Is dx, for dy = x + 7, what the student's own Φ and φ give? These have checks of their own."""
    with suppress(NotWritten, Stopped, Wrong):
        own = np.asarray(yours.Phi(x) + x * yours.phi(x), float)
        return own.shape == x.shape and np.allclose(dx, (x + 7) * own, rtol=1e-9, atol=0)
    return False


@variant.check(0.5, "large numbers", of="gelu_erf_forward", formula="far from 0, y is x or 0, and dx is dy or 0")
def erf_large(yours, draw):
    x, dy = FAR_OUT, draw.normal(2, 2, scale=1000.0)
    y, cache = yours.gelu_erf_forward(x)
    far_out("y", y, x * (x > 0), "gelu_erf_forward")
    dx, slope = yours.gelu_erf_backward(dy, cache), 1.0 * (x > 0)
    far_out("dx", dx, dy * slope, "gelu_erf_backward", suspects={NO_DY: slope})
    all_open(yours.gelu_erf_forward, yours.gelu_erf_backward, dy)
    beside_large("y", "gelu_erf_forward", lambda x: yours.gelu_erf_forward(x)[0])
    beside_large("dx", "gelu_erf_backward", lambda x: yours.forward_and_back("gelu_erf", x + 7, x))


@variant.check(0.5, "as PyTorch", of="gelu_erf_backward", formula="PyTorch's gelu and its gradient")
def erf_outside(yours, draw):
    x, dy, found = ramp(2, 5, start=1, scale=2), ramp(2, 5, start=3), numbers("ex04")
    y, cache = yours.gelu_erf_forward(x)
    same("y (PyTorch's numbers)", y, found["erf.y"])
    same("dx (PyTorch's numbers)", yours.gelu_erf_backward(dy, cache), found["erf.dx"])


@variant.check(0.5, "inputs untouched", of="gelu_erf_backward")
def erf_purity(yours, draw):
    x, dy = point(draw)
    with_many(yours, "gelu_erf", draw)
    y, cache = yours.gelu_erf_forward(x)
    something(Phi=yours.Phi(x), phi=yours.phi(x), y=y, dx=yours.gelu_erf_backward(dy, cache))
    yours.untouched()
