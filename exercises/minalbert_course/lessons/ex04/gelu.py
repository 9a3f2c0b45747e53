"""Exercise 4: tanh and GELU, a gate that opens smoothly."""

import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_erf_backward,
    gelu_erf_forward,
    gelu_forward,
    tanh_backward,
    tanh_forward,
)

from ...compare import same
from ...lesson import Lesson
from ...outside import numbers, ramp
from ..corners import also, something
from ..matches import matches
from .points import FAR_OUT, SHAPES, all_open, beside_large, compared, far, far_out, point, with_many
from .wrong_gates import NO_DY, A, C, constants_found, gates, half_multiplied, slopes, wrong_tanh, wrong_tanh_slopes

lesson = Lesson(
    "ex04", "tanh and GELU", minutes=40,
    functions={
        "tanh_forward": "y, cache",
        "tanh_backward": "dx",
        "gelu_forward": "y, cache",
        "gelu_backward": "dx",
    },
    withheld=(tanh_forward, tanh_backward, gelu_forward, gelu_backward, gelu_erf_forward, gelu_erf_backward),
    own_results=("tanh_forward", "tanh_backward", "gelu_forward", "gelu_backward"),
)  # fmt: skip

TANH = "; np.tanh does not"


def gelu(x):
    return gelu_forward(np.atleast_1d(x))[0].reshape(x.shape)


def gelu_slope(x):
    x, shape = np.atleast_1d(x), x.shape
    return gelu_backward(np.ones_like(x), (x,))[0].reshape(shape)


@lesson.check(1, "tanh", of="tanh_forward", formula="y = tanh(x) = (exp(x) - exp(-x)) / (exp(x) + exp(-x))")
@also(*SHAPES)
def tanh_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.tanh_forward(x)
    matches("y", y, np.tanh(x), "btk", lambda: wrong_tanh(x), given=(lambda x: np.tanh(x), {"x": x}))
    for name, other, limit in far(x):
        compared(f"y {name}", other, yours.tanh_forward(other)[0], np.tanh(other), limit)


@lesson.check(1.5, "tanh dx", of="tanh_backward", formula="dx = dy (1 - y²)")
@also(*SHAPES)
def tanh_gradient(yours, draw):
    x, dy = point(draw)
    dx = yours.forward_and_back("tanh", dy, x)

    def follows():
        return {says: dy * (1 - wrong * wrong) for says, wrong in wrong_tanh(x).items()}

    matches("dx", dx, dy * (1 - np.tanh(x) ** 2), "btk", lambda: wrong_tanh_slopes(x, dy), follows=follows,
            given=(lambda dy, y: dy * (1 - y * y), {"dy": dy, "y": np.tanh(x)}))  # fmt: skip
    for name, other, limit in far(x):
        dx, above = yours.forward_and_back("tanh", np.asarray(other + 7), other), other + 7
        compared(f"dx {name}", other, dx, above * (1 - np.tanh(other) ** 2), limit)


@lesson.check(2.5, "GELU", of="gelu_forward", formula="y = ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³)")
@also(*SHAPES)
def gelu_value(yours, draw):
    x, _ = point(draw)
    y, _ = yours.gelu_forward(x)

    u = C * (x + A * x**3)
    terms = {"½ x": x / 2, "½ x tanh u": x * np.tanh(u) / 2}
    matches("y", y, gelu_forward(x)[0], "btk", lambda: gates(x), lambda: terms, lambda y: constants_found(x, y),
            given=(lambda x: gelu_forward(x)[0], {"x": x}))  # fmt: skip
    for name, other, limit in far(x):
        y, _ = yours.gelu_forward(other)
        compared(f"y {name}", other, y, gelu(other), limit, lambda y, x=other: constants_found(x, y))


@lesson.check(
    3.5, "GELU dx", of="gelu_backward",
    formula="dx = dy (½ (1 + tanh u) + ½ x (1 - tanh² u) u'), u' = √(2/π) (1 + 3 · 0.044715 x²)",
)  # fmt: skip
@also(*SHAPES)
def gelu_gradient(yours, draw):
    x, dy = point(draw)
    _, cache = yours.gelu_forward(x)
    t, c = np.tanh(C * (x + A * x**3)), dy * 0.5 * x * C
    slope = gelu_backward(np.ones_like(x), (x,))[0]
    gate = 0.5 * (1 + t)
    suspects = {NO_DY: slope} | half_multiplied(
        dy, ("½ (1 + tanh u)", gate), ("½ x (1 - tanh² u) u'", slope - gate))  # fmt: skip
    terms = {"½": dy / 2, "½ tanh u": dy * t / 2, "½ x (1 - tanh² u) √(2/π)": c * (1 - t * t),
             "½ x (1 - tanh² u) √(2/π) 3 · 0.044715 x²": 3 * A * c * (1 - t * t) * x**2}  # fmt: skip
    matches("dx", yours.gelu_backward(dy, cache), gelu_backward(dy, (x,))[0], "btk",
            lambda: suspects | {says: dy * slope for says, slope in slopes(x).items()}, lambda: terms,
            given=(lambda dy, x: gelu_backward(dy, (x,))[0], {"dy": dy, "x": x}))  # fmt: skip
    for name, other, limit in far(x):
        dx = yours.forward_and_back("gelu", np.asarray(other + 7), other)
        compared(f"dx {name}", other, dx, gelu_slope(other) * (other + 7), limit)


@lesson.check(0.5, "large numbers", of="gelu_forward", formula="far from 0, y is x or 0, and dx is dy or 0")
def large(yours, draw):
    x, dy = FAR_OUT, draw.normal(2, 2, scale=1000.0)
    y, cache = yours.tanh_forward(x)
    far_out("y of tanh", y, np.sign(x), "tanh_forward", TANH)
    dx = yours.tanh_backward(dy, cache)              # its numbers are asked above
    far_out("dx of tanh", dx, np.asarray(dx, float), "tanh_backward", "; 1 - y² does not")
    y, cache = yours.gelu_forward(x)
    far_out("y", y, x * (x > 0), "gelu_forward", TANH)
    dx, slope = yours.gelu_backward(dy, cache), 1.0 * (x > 0)
    far_out("dx", dx, dy * slope, "gelu_backward", TANH, {NO_DY: slope})
    all_open(yours.gelu_forward, yours.gelu_backward, dy)
    beside_large("y of tanh", "tanh_forward", lambda x: yours.tanh_forward(x)[0])
    beside_large("dx of tanh", "tanh_backward", lambda x: yours.forward_and_back("tanh", x + 7, x))
    beside_large("y", "gelu_forward", lambda x: yours.gelu_forward(x)[0])
    beside_large("dx", "gelu_backward", lambda x: yours.forward_and_back("gelu", x + 7, x))


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
    for pair in ("tanh", "gelu"):
        with_many(yours, pair, draw)
        y, cache = getattr(yours, f"{pair}_forward")(x)
        something(y=y, dx=getattr(yours, f"{pair}_backward")(dy, cache))
    yours.untouched()
