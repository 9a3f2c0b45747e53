"""Bias, dropout, residual and layer normalisation in one walk; `layers.layer_norm` has the formulas.

    forward     z = dropout(h + linear_bias) + residual      h becomes xhat(z)         out = xhat gain + bias
    output      out = xhat gain + bias once more, with the same bits
    backward    dy becomes dz                                dh = dropout(dz)
                dgain adds Σ dy xhat                         dbias adds Σ dy           dlinear_bias adds Σ dh

h, residual, out, dy, dh: (R, H)   rstd: (R,)   linear_bias, gain, bias: (H,)

linear_bias is that of the linear layer which made h; it, its gradient and residual may be None. out may be residual.
Without dropout dh is dz, and no array is needed for it.
"""

import numpy as np

from .rows import column_sums, drop_tile, row_means
from .tiles import tiles


def norm_forward(h, gain, bias, eps, *, linear_bias=None, residual=None, dropout=None, out, rstd):
    for rows in tiles(h, dropout.length if dropout else 1):
        z, y = h[rows], out[rows]
        if linear_bias is not None:
            z += linear_bias
        if dropout is not None:
            drop_tile(z, dropout, rows.start)
        if residual is not None:
            z += residual[rows]
        z -= row_means(z)
        rstd[rows] = 1.0 / np.sqrt(np.vecdot(z, z) * (1 / z.shape[1]) + eps)
        z *= rstd[rows, None]                        # xhat
        norm_output(z, gain, bias, out=y)


def norm_output(xhat, gain, bias, *, out):
    for rows in tiles(xhat):
        y = np.multiply(xhat[rows], gain, out=out[rows])
        y += bias


def norm_backward(dy, xhat, rstd, gain, *, dropout=None, dgain, dbias, dlinear_bias=None, dh=None):
    for rows in tiles(dy, dropout.length if dropout else 1):
        g, x = dy[rows], xhat[rows]
        column_sums(g, out=dbias)
        product = g * x
        column_sums(product, out=dgain)
        g *= gain
        np.multiply(x, (np.vecdot(g, x) * (1 / x.shape[1]))[:, None], out=product)
        g -= row_means(g)                            # dx = rstd (g - mean(g) - xhat mean(g xhat))
        g -= product
        g *= rstd[rows, None]
        if dropout is not None:
            dh[rows] = g
            g = dh[rows]
            drop_tile(g, dropout, rows.start)
        if dlinear_bias is not None:
            column_sums(g, out=dlinear_bias)
