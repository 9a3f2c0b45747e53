"""Bias, dropout, residual and layer normalisation, a row at a time; `cpu.norm` has shapes and formulas."""

import numpy as np

from ..cpu.tiles import tiles
from .loops import BLOCK, IN_ANY_ORDER, loops


def norm_forward(h, gain, bias, eps, *, linear_bias=None, residual=None, dropout=None, out, rstd):
    if dropout is None:
        rows_forward(h, linear_bias, None, residual, gain, bias, eps, out, rstd)
        return
    for rows in tiles(h, dropout.length):
        factors = _row_factors(h[rows], dropout, rows.start)
        straight = None if residual is None else residual[rows]
        rows_forward(h[rows], linear_bias, factors, straight, gain, bias, eps, out[rows], rstd[rows])


def norm_output(xhat, gain, bias, *, out):
    rows_output(xhat, gain, bias, out)


def norm_backward(dy, xhat, rstd, gain, *, dropout=None, dgain, dbias, dlinear_bias=None, dh=None):
    if dropout is None:
        rows_backward(dy, xhat, rstd, gain, None, dgain, dbias, dlinear_bias, None)
        return
    for rows in tiles(dy, dropout.length):
        factors = _row_factors(dy[rows], dropout, rows.start)
        rows_backward(dy[rows], xhat[rows], rstd[rows], gain, factors, dgain, dbias, dlinear_bias, dh[rows])


def _row_factors(x, dropout, start):
    examples = x.reshape(-1, dropout.length, x.shape[1])
    return dropout.factors(examples, start // dropout.length).reshape(x.shape)


@loops(fastmath=IN_ANY_ORDER)
def rows_forward(h, linear_bias, factors, residual, gain, bias, eps, out, rstd):
    """linear_bias, factors and residual may be None"""
    real, H = h.dtype.type, h.shape[1]
    for row in range(len(h)):
        z, y = h[row], out[row]
        if linear_bias is not None:
            for j in range(H):
                z[j] += linear_bias[j]
        if factors is not None:
            f_row = factors[row]
            for j in range(H):
                z[j] *= f_row[j]
        if residual is not None:
            r_row = residual[row]
            for j in range(H):
                z[j] += r_row[j]
        total = squares = real(0)
        for j in range(H):
            total += z[j]
        mean = total * real(1 / H)
        for j in range(H):
            z[j] -= mean
            squares += z[j] * z[j]
        r = real(1) / np.sqrt(squares * real(1 / H) + real(eps))
        rstd[row] = r
        for j in range(H):
            z[j] *= r
            y[j] = z[j] * gain[j] + bias[j]


@loops(fastmath=IN_ANY_ORDER)
def rows_output(xhat, gain, bias, out):
    for row in range(len(xhat)):
        x, y = xhat[row], out[row]
        for j in range(xhat.shape[1]):
            y[j] = x[j] * gain[j] + bias[j]


@loops(fastmath=IN_ANY_ORDER)
def rows_backward(dy, xhat, rstd, gain, factors, dgain, dbias, dlinear_bias, dh):
    """dh = dz factors; without factors dh is dz; factors and dlinear_bias may be None"""
    real, H = dy.dtype.type, dy.shape[1]
    for start in range(0, len(dy), BLOCK):
        dgains, dbiases, dlinear_biases = np.zeros_like(gain), np.zeros_like(gain), np.zeros_like(gain)
        for row in range(start, min(start + BLOCK, len(dy))):
            g, x, r = dy[row], xhat[row], rstd[row]
            total = product = real(0)
            for j in range(H):
                dbiases[j] += g[j]
                dgains[j] += g[j] * x[j]
            for j in range(H):
                g[j] *= gain[j]
                total += g[j]
                product += g[j] * x[j]
            total *= real(1 / H)
            product *= real(1 / H)
            for j in range(H):
                g[j] = r * (g[j] - total - x[j] * product)
            if factors is not None:
                dz, f_row, g = g, factors[row], dh[row]
                for j in range(H):
                    g[j] = dz[j] * f_row[j]
            if dlinear_bias is not None:
                for j in range(H):
                    dlinear_biases[j] += g[j]
        for j in range(H):
            dgain[j] += dgains[j]
            dbias[j] += dbiases[j]
        if dlinear_bias is not None:
            for j in range(H):
                dlinear_bias[j] += dlinear_biases[j]
