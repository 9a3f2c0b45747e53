"""GELU with the bias of the linear layer before it; `layers.gelu` has the formulas.

    forward     out = y = gelu(u + bias)
    backward    dy becomes du = dy gelu'(u + bias)        u becomes y        dbias adds Σ_rows du

u, out, dy: (R, F)   bias: (F,)

The tanh is the expensive part. Backward needs it anyway, so y is computed again instead of being kept.
"""

import numpy as np

from ...layers import gelu_erf_backward, gelu_erf_forward
from ...layers.gelu import A, C
from .rows import column_sums
from .tiles import tiles


def gelu_forward(u, bias, form, *, out):
    for rows in tiles(u):
        _FORWARD[form](u[rows], bias, out[rows])


def gelu_backward(dy, u, bias, form, *, dbias):
    for rows in tiles(u):
        _BACKWARD[form](dy[rows], u[rows], bias)
        column_sums(dy[rows], out=dbias)


def _tanh_forward(u, bias, y):
    x = u + bias
    t = _tanh_u(x, y)
    t += 1.0
    t *= x
    t *= 0.5                                         # y is t


def _tanh_backward(dy, u, bias):
    u += bias
    x, t = u, _tanh_u(u, np.empty_like(u))
    slope = x * x
    slope *= 3 * C * A
    slope += C                                       # u' = C (1 + 3 A x²)
    slope *= x
    tail = t * t
    np.subtract(1.0, tail, out=tail)                 # 1 - tanh²
    slope *= tail
    t += 1.0
    slope += t                                       # 1 + tanh u + x (1 - tanh² u) u'
    slope *= 0.5
    dy *= slope
    t *= 0.5
    u *= t                                           # y = ½ x (1 + tanh u)


def _tanh_u(x, out):
    np.multiply(x, x, out=out)
    out *= C * A
    out += C                                         # C (1 + A x²)
    out *= x
    return np.tanh(out, out=out)


def _erf_forward(u, bias, y):
    y[...], _ = gelu_erf_forward(u + bias)


def _erf_backward(dy, u, bias):
    u += bias
    (dy[...],) = gelu_erf_backward(dy, (u,))
    u[...], _ = gelu_erf_forward(u)


_FORWARD = {"tanh": _tanh_forward, "erf": _erf_forward}
_BACKWARD = {"tanh": _tanh_backward, "erf": _erf_backward}
