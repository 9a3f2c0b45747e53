"""GELU, a gate that opens smoothly: y = x Φ(x), Φ the normal distribution (Hendrycks & Gimpel, 2016).

Two forms are in use. They differ by up to 4.7e-4, so a released model must get its own:

    tanh form (ALBERT's "gelu_new")     y = ½ x (1 + tanh u)          u = C (x + A x³)
    erf form  (exact, "gelu")           y = ½ x (1 + erf(x / √2))

Backward, the product rule in both:

    tanh form     dx = dy (½ (1 + tanh u) + ½ x (1 - tanh² u) u')     u' = C (1 + 3 A x²)
    erf form      dx = dy (Φ(x) + x φ(x))                             φ(x) = exp(-x²/2) / √(2π)

x, y: any shape   cache: x alone; recomputing one tanh is cheaper than keeping it
"""

import math

from ..backend import array_module
from .erf import erf

C = math.sqrt(2 / math.pi)
A = 0.044715


def _tanh_u(x):
    u = x * x
    u *= C * A
    u += C                                           # C (1 + A x²)
    u *= x
    return array_module(x).tanh(u, out=u)


def gelu_forward(x):
    y = _tanh_u(x)
    y += 1.0
    y *= x
    y *= 0.5
    return y, (x,)


def gelu_backward(dy, cache):
    (x,) = cache
    t = _tanh_u(x)
    du = x * x
    du *= 3 * C * A
    du += C                                          # u' = C (1 + 3 A x²)

    dx = 1.0 - t * t                                 # tanh' = 1 - tanh²
    dx *= du
    dx *= x                                          # x (1 - tanh² u) u'
    dx += t
    dx += 1.0                                        #     + 1 + tanh u
    dx *= 0.5
    dx *= dy
    return (dx,)


def gelu_erf_forward(x):
    y = erf(x * math.sqrt(0.5))
    y += 1.0
    y *= x
    y *= 0.5
    return y, (x,)


def gelu_erf_backward(dy, cache):
    (x,) = cache
    cdf = erf(x * math.sqrt(0.5))
    cdf += 1.0
    cdf *= 0.5                                       # Φ(x)
    pdf = array_module(x).exp(-0.5 * x * x)
    pdf *= 1 / math.sqrt(2 * math.pi)                # φ(x)
    return (dy * (cdf + x * pdf),)


GELU = {"tanh": (gelu_forward, gelu_backward), "erf": (gelu_erf_forward, gelu_erf_backward)}
