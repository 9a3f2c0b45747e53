"""GELU with the bias of the linear layer before it, a number at a time; `cpu.gelu` has it a tile at a time.

    forward     out = y = x s       x = u + bias       s = ½ (1 + tanh u(x)) = 1 / (1 + exp(-2u(x)))
    backward    dy becomes du = dy (s + x s (1 - s) 2u'(x))        u becomes y        dbias adds Σ_rows du

u, out, dy: (R, F)   bias: (F,)

The loops serve the tanh form; the erf form is NumPy's own.
"""

import numpy as np

from ...layers.gelu import A, C
from ..cpu import gelu
from .loops import BLOCK, ONE, F, exp, loops

U1, U3 = F(-2 * C), F(-2 * C * A)                    # -2u = U1 x + U3 x³


def gelu_forward(u, bias, form, *, out):
    if form == "tanh":
        tanh_forward(u, bias, out)
    else:
        gelu.gelu_forward(u, bias, form, out=out)


def gelu_backward(dy, u, bias, form, *, dbias):
    if form == "tanh":
        tanh_backward(dy, u, bias, dbias)
    else:
        gelu.gelu_backward(dy, u, bias, form, dbias=dbias)


@loops("(f4[:, ::1], f4[::1], f4[:, ::1])")
def tanh_forward(u, bias, y):
    for row in range(len(u)):
        u_row, y_row = u[row], y[row]
        for j in range(len(bias)):
            x = u_row[j] + bias[j]
            y_row[j] = x / (ONE + exp(x * (U1 + U3 * (x * x))))


@loops("(f4[:, ::1], f4[:, ::1], f4[::1], f4[::1])")
def tanh_backward(dy, u, bias, dbias):
    for start in range(0, len(u), BLOCK):
        sums = np.zeros_like(bias)
        for row in range(start, min(start + BLOCK, len(u))):
            u_row, dy_row = u[row], dy[row]
            for j in range(len(bias)):
                x = u_row[j] + bias[j]
                e = exp(x * (U1 + U3 * (x * x)))
                s = ONE / (ONE + e)
                y = x * s
                du = dy_row[j] * (s - y * (e * s) * (U1 + F(3) * U3 * (x * x)))       # e s is 1 - s, to all digits
                u_row[j], dy_row[j] = y, du
                sums[j] += du
        for j in range(len(bias)):
            dbias[j] += sums[j]
