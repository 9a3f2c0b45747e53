"""Softmax over the last axis.

    y_i = exp(x_i) / Σ_j exp(x_j)

Shifting x by its maximum changes nothing in exact arithmetic and keeps exp from overflowing.

Backward needs the output alone. From ∂y_i/∂x_j = y_i (δ_ij - y_j):

    dx = y (dy - Σ_j dy_j y_j)

Each row of dx sums to zero, because adding a constant to a row of x leaves y as it is.

x, y: (..., K)   cache: y
"""

from ..backend import array_module


def softmax(x):
    xp = array_module(x)
    y = x - x.real.max(axis=-1, keepdims=True)       # .real: a complex number has no order
    xp.exp(y, out=y)
    y /= y.sum(axis=-1, keepdims=True)
    return y


def log_softmax(x):
    xp = array_module(x)
    y = x - x.real.max(axis=-1, keepdims=True)
    y -= xp.log(xp.exp(y).sum(axis=-1, keepdims=True))
    return y


def softmax_forward(x):
    y = softmax(x)
    return y, (y,)


def softmax_backward(dy, cache):
    (y,) = cache
    dx = dy * y
    dx -= y * dx.sum(axis=-1, keepdims=True)         # y dy - y Σ dy y
    return (dx,)
