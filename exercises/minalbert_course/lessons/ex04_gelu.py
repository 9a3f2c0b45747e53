"""Exercise 4: tanh and GELU, a gate that opens smoothly. Variant: GELU in its erf form."""

import math

import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_erf_backward,
    gelu_erf_forward,
    gelu_forward,
    tanh_backward,
    tanh_forward,
)
from minalbert.layers.erf import erf

from ..compare import LIMIT, Wrong, same
from ..compare import numbers as array_of
from ..lesson import Lesson
from ..outside import numbers, ramp
from .corners import Corner, also, something, upstream
from .matches import matches
from .wrong_gates import (
    NO_DY,
    A,
    C,
    cdf,
    constants_found,
    gates,
    of_erf,
    pdf,
    slopes,
    slopes_of_erf,
    wrong_tanh,
    wrong_tanh_slopes,
)

lesson = Lesson(
    "ex04", "tanh and GELU", minutes=40,
    functions={
        "tanh_forward": "y, cache",
        "tanh_backward": "dx",
        "gelu_forward": "y, cache",
        "gelu_backward": "dx",
    },
    withheld=(tanh_forward, tanh_backward, gelu_forward, gelu_backward, gelu_erf_forward, gelu_erf_backward),
)  # fmt: skip
variant = Lesson(
    "ex04-erf", "GELU with the error function", minutes=40, variant_of="ex04",
    functions={
        "Phi": "p",
        "phi": "p",
        "gelu_erf_forward": "y, cache",
        "gelu_erf_backward": "dx",
    },
    withheld=(gelu_forward, gelu_backward, gelu_erf_forward, gelu_erf_backward),
)  # fmt: skip
LESSONS = [lesson, variant]

TANH = "; np.tanh does not"
SHAPES = (
    Corner(B=1, T=1, K=1),
    Corner("tiny", B=2, T=4, K=1),
    Corner("large", B=4, T=1, K=2),
    Corner("zero", B=3, T=2, K=4),
    Corner(B=1, T=3, K=3),
)


def point(draw):
    """x and dy, of the size at which the forms and their derivatives differ"""
    shape = draw.sizes(B=2, T=3, K=5)
    return draw.normal(*shape, scale=1.5), upstream(draw, *shape)


def far(x):
    """Numbers from -6 to 6, whole ones among them, in one axis and in four: (name, array)"""
    ways = np.linspace(-6, 6, 97), np.linspace(-4.5, -3, 13).reshape(1, 13, 1, 1), x[0], x[..., None]
    return {f"for x of shape {array.shape}, {array.min():.3g} to {array.max():.3g}": array for array in ways}


def closely(x):
    """The limit for gates that are nearly shut: rounding is as large as for open ones."""
    return 100 * LIMIT if x.max() <= -3 else LIMIT


@lesson.check(1, "tanh", of="tanh_forward", formula="y = tanh(x) = (exp(x) - exp(-x)) / (exp(x) + exp(-x))")
@also(*SHAPES)
def tanh_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.tanh_forward(x)
    matches("y", y, np.tanh(x), "btk", lambda: wrong_tanh(x), given=(lambda x: np.tanh(x), {"x": x}))
    for name, other in far(x).items():
        matches(f"y {name}", yours.tanh_forward(other)[0], np.tanh(other))


@lesson.check(1.5, "tanh dx", of="tanh_backward", formula="dx = dy (1 - y²)")
@also(*SHAPES)
def tanh_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.tanh_forward(x)
    dx = yours.tanh_backward(dy, cache)

    def follows():
        return {says: dy * (1 - wrong * wrong) for says, wrong in wrong_tanh(x).items()}

    matches("dx", dx, dy * (1 - np.tanh(x) ** 2), "btk", lambda: wrong_tanh_slopes(x, dy), follows=follows,
            given=(lambda dy, y: dy * (1 - y * y), {"dy": dy, "y": np.tanh(x)}))  # fmt: skip
    for name, other in far(x).items():
        _, cache = yours.tanh_forward(other)
        matches(f"dx {name}", yours.tanh_backward(other + 7, cache), (other + 7) * (1 - np.tanh(other) ** 2))


@lesson.check(2.5, "GELU", of="gelu_forward", formula="y = ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³)")
@also(*SHAPES)
def gelu_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.gelu_forward(x)

    u = C * (x + A * x**3)
    terms = {"½ x": x / 2, "½ x tanh u": x * np.tanh(u) / 2}
    matches("y", y, gelu_forward(x)[0], "btk", lambda: gates(x), lambda: terms, lambda y: constants_found(x, y),
            given=(lambda x: gelu_forward(x)[0], {"x": x}))  # fmt: skip
    for name, other in far(x).items():
        y, _ = yours.gelu_forward(other)
        matches(f"y {name}", y, gelu_forward(other)[0], limit=closely(other))


@lesson.check(
    3.5, "GELU dx", of="gelu_backward",
    formula="dx = dy (½ (1 + tanh u) + ½ x (1 - tanh² u) u'), u' = √(2/π) (1 + 3 · 0.044715 x²)",
)  # fmt: skip
@also(*SHAPES)
def gelu_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_forward(x)
    t, c = np.tanh(C * (x + A * x**3)), dy * 0.5 * x * C
    suspects = {NO_DY: gelu_backward(np.ones_like(x), (x,))[0]}
    terms = {"½": dy / 2, "½ tanh u": dy * t / 2, "½ x (1 - tanh² u) √(2/π)": c * (1 - t * t),
             "½ x (1 - tanh² u) √(2/π) 3 · 0.044715 x²": 3 * A * c * (1 - t * t) * x**2}  # fmt: skip
    matches("dx", yours.gelu_backward(dy, cache), gelu_backward(dy, (x,))[0], "btk",
            lambda: suspects | {says: dy * slope for says, slope in slopes(x).items()}, lambda: terms,
            given=(lambda dy, x: gelu_backward(dy, (x,))[0], {"dy": dy, "x": x}))  # fmt: skip
    for name, other in far(x).items():
        _, cache = yours.gelu_forward(other)
        dx = yours.gelu_backward(other + 7, cache)
        matches(f"dx {name}", dx, gelu_backward(other + 7, (other,))[0], limit=closely(other))


@lesson.check(0.5, "large numbers", of="gelu_forward", formula="far from 0, y is x or 0, and dx is dy or 0")
def large(yours, draw):
    x, dy = np.array([-1000.0, -200.0, 200.0, 1000.0]), draw.normal(4)
    far_out("y of tanh", yours.tanh_forward(x)[0], np.sign(x), "tanh_forward", TANH)
    y, cache = yours.gelu_forward(x)
    far_out("y", y, x * (x > 0), "gelu_forward", TANH)
    far_out("dx", yours.gelu_backward(dy, cache), dy * (x > 0), "gelu_backward", TANH)


def far_out(name, answer, expected, of, instead=""):
    name = f"{name} at -1000, -200, 200, 1000"
    if not np.isfinite(array_of(name, answer, expected.shape)).all():
        raise Wrong(f"{name} is not finite", f"exp of a large number overflows{instead}", of)
    same(name, answer, expected)


@lesson.check(0.5, "as PyTorch", of="gelu_backward", formula='PyTorch\'s tanh and gelu(approximate="tanh")')
def outside(yours, draw):
    x, dy, found = ramp(2, 5, start=1, scale=2), ramp(2, 5, start=3), numbers("ex04")
    for name, forward, backward in (
        ("tanh", yours.tanh_forward, yours.tanh_backward),
        ("gelu", yours.gelu_forward, yours.gelu_backward),
    ):
        y, cache = forward(x)
        same(f"{name}'s y (PyTorch's numbers)", y, found[f"{name}.y"])
        same(f"{name}'s dx (PyTorch's numbers)", backward(dy, cache), found[f"{name}.dx"])


@lesson.check(0.5, "inputs untouched", of="gelu_backward")
def purity(yours, draw):
    x, dy = point(draw)
    for forward, backward in ((yours.tanh_forward, yours.tanh_backward), (yours.gelu_forward, yours.gelu_backward)):
        y, cache = forward(x)
        something(y=y, dx=backward(dy, cache))
    yours.untouched()


@variant.check(1.5, "Phi", of="Phi", formula="Φ(x) = ½ (1 + erf(x / √2))")
@also(*SHAPES)
def Phi_value(yours, draw):
    x, _ = point(draw)
    terms = {"½": np.full_like(x, 0.5), "½ erf(x / √2)": erf(x / math.sqrt(2)) / 2}
    matches("Φ", yours.Phi(x), cdf(x), "btk", lambda: of_erf(x), lambda: terms, given=(cdf, {"x": x}))
    for name, other in far(x).items():
        matches(f"Φ {name}", yours.Phi(other), cdf(other), limit=100 * closely(other))


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
    for name, other in far(x).items():
        matches(f"φ {name}", yours.phi(other), pdf(other))


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
    for name, other in far(x).items():
        y, _ = yours.gelu_erf_forward(other)
        matches(f"y {name}", y, other * cdf(other), limit=closely(other))


@variant.check(3.5, "GELU dx", of="gelu_erf_backward", formula="dx = dy (Φ(x) + x φ(x))")
@also(*SHAPES)
def erf_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_erf_forward(x)
    slope = cdf(x) + x * pdf(x)
    terms = {"Φ(x)": dy * cdf(x), "x φ(x)": dy * x * pdf(x)}
    suspects = {NO_DY: slope, "this is the derivative of the tanh form, which differs by up to a thousandth; forward "
                "is x Φ(x)": gelu_backward(dy, (x,))[0]}  # fmt: skip

    def follows():
        return {says: dy * (gate + x * pdf(x)) for says, gate in of_erf(x).items()}

    ways = {says: dy * other for says, other in slopes_of_erf(x).items()}
    dx = yours.gelu_erf_backward(dy, cache)
    matches("dx", dx, dy * slope, "btk", lambda: suspects | ways, lambda: terms, follows=follows,
            given=(lambda dy, x: dy * (cdf(x) + x * pdf(x)), {"dy": dy, "x": x}))  # fmt: skip
    for name, other in far(x).items():
        _, cache = yours.gelu_erf_forward(other)
        dx, slope = yours.gelu_erf_backward(other + 7, cache), cdf(other) + other * pdf(other)
        matches(f"dx {name}", dx, (other + 7) * slope, limit=closely(other))


@variant.check(0.5, "large numbers", of="gelu_erf_forward", formula="far from 0, y is x or 0, and dx is dy or 0")
def erf_large(yours, draw):
    x, dy = np.array([-1000.0, -200.0, 200.0, 1000.0]), draw.normal(4)
    y, cache = yours.gelu_erf_forward(x)
    far_out("y", y, x * (x > 0), "gelu_erf_forward")
    far_out("dx", yours.gelu_erf_backward(dy, cache), dy * (x > 0), "gelu_erf_backward")


@variant.check(0.5, "as PyTorch", of="gelu_erf_backward", formula="PyTorch's gelu and its gradient")
def erf_outside(yours, draw):
    x, dy, found = ramp(2, 5, start=1, scale=2), ramp(2, 5, start=3), numbers("ex04")
    y, cache = yours.gelu_erf_forward(x)
    same("y (PyTorch's numbers)", y, found["erf.y"])
    same("dx (PyTorch's numbers)", yours.gelu_erf_backward(dy, cache), found["erf.dx"])


@variant.check(0.5, "inputs untouched", of="gelu_erf_backward")
def erf_purity(yours, draw):
    x, dy = point(draw)
    y, cache = yours.gelu_erf_forward(x)
    something(Phi=yours.Phi(x), phi=yours.phi(x), y=y, dx=yours.gelu_erf_backward(dy, cache))
    yours.untouched()
