"""Bias, dropout, residual and layer normalisation in one walk; `layers.layer_norm` has the formulas.

    forward     z = dropout(h + bias) + residual         h becomes xhat(z)         y = xhat gain + beta
    backward    dy becomes dz                            dh = dropout(dz)
                dgain adds Σ dy xhat                     dbeta adds Σ dy           dbias adds Σ dh

h, residual, y, dy, dh: (R, H)   rstd: (R,)   bias, gain, beta: (H,)

bias, dbias and residual may be None. Without coins dh is dz, and not looked at.
"""

import numpy as np

from .rows import column_sums, drop_tile, row_means
from .tiles import tiles


def norm_forward(h, bias, residual, coins, gain, beta, eps, y, rstd):
    for rows in tiles(h, coins.length if coins else 1):
        z, out = h[rows], y[rows]
        if bias is not None:
            z += bias
        if coins is not None:
            drop_tile(z, coins, rows.start)
        if residual is not None:
            z += residual[rows]
        z -= row_means(z)
        rstd[rows] = 1.0 / np.sqrt(np.vecdot(z, z) * (1 / z.shape[1]) + eps)
        z *= rstd[rows, None]                        # xhat
        np.multiply(z, gain, out=out)
        out += beta


def norm_backward(dy, xhat, rstd, gain, coins, dgain, dbeta, dbias, dh):
    for rows in tiles(dy, coins.length if coins else 1):
        g, x = dy[rows], xhat[rows]
        column_sums(g, dbeta)
        product = g * x
        column_sums(product, dgain)
        g *= gain
        np.multiply(x, (np.vecdot(g, x) * (1 / x.shape[1]))[:, None], out=product)
        g -= row_means(g)                            # dx = rstd (g - mean(g) - xhat mean(g xhat))
        g -= product
        g *= rstd[rows, None]
        if coins is not None:
            dh[rows] = g
            g = dh[rows]
            drop_tile(g, coins, rows.start)
        if dbias is not None:
            column_sums(g, dbias)
