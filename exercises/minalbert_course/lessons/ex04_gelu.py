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

from ..compare import Wrong, same
from ..compare import numbers as array_of
from ..lesson import Lesson
from ..outside import numbers, ramp

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

C, A = math.sqrt(2 / math.pi), 0.044715
NO_DY = "dy is not multiplied in: this is dy/dx alone, which the chain rule multiplies by what comes from above"
TANH = "; np.tanh does not"


def point(draw):
    """x and dy, of the size at which the forms and their derivatives differ"""
    shape = draw.sizes(B=2, T=3, K=5)
    return draw.normal(*shape, scale=1.5), draw.normal(*shape)


def cdf(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def pdf(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@lesson.check(1, "tanh", of="tanh_forward", formula="y = tanh(x) = (exp(x) - exp(-x)) / (exp(x) + exp(-x))")
def tanh_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.tanh_forward(x)
    suspects = {
        "this is the logistic function 1 / (1 + exp(-x))": 1 / (1 + np.exp(-x)),
        "this is tanh(x / 2)": np.tanh(x / 2),
        "this is tanh(2 x)": np.tanh(2 * x),
    }
    same("y", y, np.tanh(x), "btk", suspects=suspects)


@lesson.check(1.5, "tanh dx", of="tanh_backward", formula="dx = dy (1 - y²)")
def tanh_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.tanh_forward(x)
    y = np.tanh(x)
    suspects = {
        NO_DY: 1 - y * y,
        "1 - y is used where 1 - y² is meant": dy * (1 - y),
        "1 - x² is used where 1 - y² is meant": dy * (1 - x * x),
        "tanh is taken twice: the cache holds y already, and dx = dy (1 - y²)": dy * (1 - np.tanh(y) ** 2),
    }
    same("dx", yours.tanh_backward(dy, cache), dy * (1 - y * y), "btk", suspects=suspects)


@lesson.check(2.5, "GELU", of="gelu_forward", formula="y = ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³)")
def gelu_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.gelu_forward(x)

    def gate(u):
        return 0.5 * x * (1 + np.tanh(u))

    suspects = {
        "this is the erf form x Φ(x); ALBERT's is the tanh form": x * cdf(x),
        "the constant is 0.044715, not 0.44715": gate(C * (x + 0.44715 * x**3)),
        "√(2/π) is missing in u": gate(x + A * x**3),
        "√(2/π) multiplies x alone, not the sum x + 0.044715 x³": gate(C * x + A * x**3),
        "√(2/π) multiplies x³ alone, not the sum x + 0.044715 x³": gate(x + C * A * x**3),
        "the term 0.044715 x³ is missing in u": gate(C * x),
        "x² is used where x³ is meant": gate(C * (x + A * x**2)),
        "√(2π) or 1/√(2π) is used where √(2/π) is meant": gate(math.sqrt(2 * math.pi) * (x + A * x**3)),
        "2/π is used where √(2/π) is meant": gate(2 / math.pi * (x + A * x**3)),
        "the 1 in 1 + tanh u is missing": 0.5 * x * np.tanh(C * (x + A * x**3)),
        "the factor x is missing: this is the gate alone": 0.5 * (1 + np.tanh(C * (x + A * x**3))),
    }
    same("y", y, gelu_forward(x)[0], "btk", suspects=suspects)


def slopes(x):
    """What a mistake makes of dy/dx: {mistake: array}"""
    t, u1 = np.tanh(C * (x + A * x**3)), C * (1 + 3 * A * x**2)
    gate, bend = 0.5 * (1 + t), 0.5 * x * (1 - t * t)
    t10, u10 = np.tanh(C * (x + 10 * A * x**3)), C * (1 + 30 * A * x**2)
    return {
        "this is the derivative of the erf form, Φ(x) + x φ(x), which differs by up to a thousandth; forward is the "
        "tanh form": cdf(x) + x * pdf(x),
        "the factor 3 in u' is missing: the derivative of x³ is 3 x²": gate + bend * C * (1 + A * x**2),
        "the product rule's second term, ½ x (1 - tanh² u) u', is missing": gate,
        "the product rule's first term, ½ (1 + tanh u), is missing": bend * u1,
        "u' is missing: the chain rule goes on from tanh into u": gate + bend,
        "√(2/π) is missing in u'": gate + bend * u1 / C,
        "the factor x of the product rule's second term is missing": gate + 0.5 * (1 - t * t) * u1,
        "1 - tanh u is used where 1 - tanh² u is meant": gate + 0.5 * x * (1 - t) * u1,
        "the ½ of the product rule's second term is missing": gate + 2 * bend * u1,
        "u' is taken to be √(2/π): the derivative of 0.044715 x³ is missing": gate + bend * C,
        "the constant is 0.044715, not 0.44715": 0.5 * (1 + t10) + 0.5 * x * (1 - t10 * t10) * u10,
    }


@lesson.check(
    3.5, "GELU dx", of="gelu_backward",
    formula="dx = dy (½ (1 + tanh u) + ½ x (1 - tanh² u) u'), u' = √(2/π) (1 + 3 · 0.044715 x²)",
)  # fmt: skip
def gelu_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_forward(x)
    suspects = {NO_DY: gelu_backward(np.ones_like(x), (x,))[0]}
    suspects |= {says: dy * slope for says, slope in slopes(x).items()}
    same("dx", yours.gelu_backward(dy, cache), gelu_backward(dy, (x,))[0], "btk", suspects=suspects)


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
    _, cache = yours.tanh_forward(x)
    yours.tanh_backward(dy, cache)
    _, cache = yours.gelu_forward(x)
    yours.gelu_backward(dy, cache)
    yours.untouched()


@variant.check(1.5, "Phi", of="Phi", formula="Φ(x) = ½ (1 + erf(x / √2))")
def Phi_value(yours, draw):
    x, _ = point(draw)
    suspects = {
        "erf is asked at x, not at x / √2": 0.5 * (1 + erf(x)),
        "erf is asked at x / 2, not at x / √2": 0.5 * (1 + erf(x / 2)),
        "the 1 in 1 + erf is missing": 0.5 * erf(x / math.sqrt(2)),
        "erf itself runs from -1 to 1; Φ is a probability": erf(x / math.sqrt(2)),
        "this is the tanh form's gate; Φ is asked with erf": 0.5 * (1 + np.tanh(C * (x + A * x**3))),
    }
    same("Φ", yours.Phi(x), cdf(x), "btk", suspects=suspects)


@variant.check(1.5, "phi", of="phi", formula="φ(x) = exp(-x²/2) / √(2π), the derivative of Φ")
def phi_value(yours, draw):
    x, _ = point(draw)
    known = {"√(2π)": math.sqrt(2 * math.pi), "√2": math.sqrt(2), "√π": math.sqrt(math.pi), "2": 2.0}
    suspects = {
        "this is exp(-x²) / √(2π): the ½ in the exponent is missing": np.exp(-x * x) / math.sqrt(2 * math.pi),
        "this is exp(-x²) / √π: the slope of erf(x) / 2, without the √2 inside": np.exp(-x * x) / math.sqrt(math.pi),
        "the sign in the exponent is missing": np.exp(x * x / 2) / math.sqrt(2 * math.pi),
    }
    same("φ", yours.phi(x), pdf(x), "btk", known=known, suspects=suspects)


@variant.check(2, "GELU", of="gelu_erf_forward", formula="y = x Φ(x)")
def erf_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.gelu_erf_forward(x)
    suspects = {
        "this is the tanh form, which differs by up to 4.7e-4; asked is x Φ(x)": gelu_forward(x)[0],
        "erf is asked at x, not at x / √2": 0.5 * x * (1 + erf(x)),
        "the factor x is missing: this is Φ(x) alone": cdf(x),
        "this is x φ(x): the density, not the distribution Φ": x * pdf(x),
    }
    same("y", y, x * cdf(x), "btk", suspects=suspects)


@variant.check(3.5, "GELU dx", of="gelu_erf_backward", formula="dx = dy (Φ(x) + x φ(x))")
def erf_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_erf_forward(x)
    slope = cdf(x) + x * pdf(x)
    suspects = {
        NO_DY: slope,
        "this is the derivative of the tanh form, which differs by up to a thousandth; forward is x Φ(x)":
            gelu_backward(dy, (x,))[0],
        "the product rule's second term, x φ(x), is missing": dy * cdf(x),
        "the product rule's first term, Φ(x), is missing": dy * x * pdf(x),
        "the factor x of the product rule's second term is missing": dy * (cdf(x) + pdf(x)),
        "φ is not divided by √(2π)": dy * (cdf(x) + x * np.exp(-x * x / 2)),
        "the inner derivative 1/√2 of erf(x / √2) is missing, or φ's constant is off by √2":
            dy * (cdf(x) + math.sqrt(2) * x * pdf(x)),
        "φ has exp(-x²), not exp(-x²/2)": dy * (cdf(x) + x * np.exp(-x * x) / math.sqrt(2 * math.pi)),
    }  # fmt: skip
    same("dx", yours.gelu_erf_backward(dy, cache), dy * slope, "btk", suspects=suspects)


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
    yours.Phi(x)
    yours.phi(x)
    _, cache = yours.gelu_erf_forward(x)
    yours.gelu_erf_backward(dy, cache)
    yours.untouched()
