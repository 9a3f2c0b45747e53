"""The launches of norm.cu, and of norm_output in rows.cu; `cpu.norm` has what they compute."""

import numpy as np

from .launch import launch
from .rows import add_partial_sums
from .tiles import check_columns, instance, launch_over_rows

WARP_COLUMNS, WARP_ROWS, BLOCKS = 768, 4, 396        # what a warp holds of a row; rows of a block, if a warp holds all
WIDEST = 4096


def norm_forward(gpu, h, gain, bias, eps, *, linear_bias=None, residual=None, dropout=None, out, rstd):
    check_columns(h, linear_bias, residual, gain, bias, out)
    if h.size:
        if dropout is not None:
            gpu.write_key(dropout.key)
        block = norm_block(h.shape[1])
        grid = (-(-len(h) // block[1]),)
        inputs = h, linear_bias, residual, *gpu.dropout_arguments(dropout), gain, bias, float(eps)
        launch(("norm.cu", instance("norm_forward", h)), grid, block, *inputs, out, rstd, *h.shape)


def norm_output(gpu, xhat, gain, bias, *, out):
    check_columns(xhat, gain, bias, out)
    launch_over_rows("rows.cu", "norm_output", xhat, xhat, gain, bias, out, *xhat.shape)


def norm_backward(gpu, dy, xhat, rstd, gain, *, dropout=None, dgain, dbias, dlinear_bias=None, dh=None):
    check_columns(dy, xhat, gain, dgain, dbias, dlinear_bias, dh)
    if dy.size:
        if dropout is not None:
            gpu.write_key(dropout.key)
        block = norm_block(dy.shape[1])
        grid = (min(-(-len(dy) // block[1]), BLOCKS),)
        partial = gpu.scratch("partial sums", (3, *grid, dy.shape[1]), np.float32)
        dh = None if dropout is None else dh
        inputs = dy, xhat, rstd, gain, *gpu.dropout_arguments(dropout)
        launch(("norm.cu", instance("norm_backward", dy)), grid, block, *inputs, dh, partial, *dy.shape)
        add_partial_sums(partial, dgain, dbias, dlinear_bias)


def norm_block(columns):
    """(threads of a row, rows)"""
    if not 1 <= columns <= WIDEST:
        raise ValueError(f"rows of {columns} numbers do not fit the GPU's norm, which takes 1 to {WIDEST}")
    warps = -(-columns // WARP_COLUMNS)
    return 32 * warps, WARP_ROWS if warps == 1 else 1
