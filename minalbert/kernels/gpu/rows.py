"""The launches of rows.cu and cast.cu; `cpu.rows` has what they compute.

A sum over rows is taken in two steps, so that its order is fixed: each block sums its own rows, and a second kernel
adds these partial sums up.
"""

import numpy as np

from .launch import launch
from .tiles import BLOCKS, TALL, check_columns, instance, launch_over_rows, row_grid, row_stride


def cast(gpu, x, *, out):
    """out becomes x, rounded to its dtype."""
    if x.size:
        grid = (min(-(-x.size // 2048), BLOCKS),)
        launch(("cast.cu", instance("cast", x, out)), grid, (256,), x, out, x.size)


def add_bias(gpu, x, bias):
    check_columns(x, bias)
    if x.size:                                       # x may be a slice of wider rows, so it is given by its first row
        launch_over_rows("rows.cu", "add_bias", x, x[0], bias, row_stride(x), *x.shape)


def column_sums(gpu, x, *, out):
    check_columns(x, out)
    if x.size:
        partial = partial_sums(gpu, *x.shape)
        launch_over_rows("rows.cu", "column_sums", x, x[0], partial, row_stride(x), *x.shape)
        add_partial_sums(partial, out)


def partial_sums(gpu, rows, columns):
    return gpu.scratch("partial sums", (1, row_grid(rows, columns)[1], columns), np.float32)


def add_partial_sums(partial, *targets):
    """Each target, or None, adds partial[i].sum(0)."""
    which, slabs, columns = partial.shape
    targets = (*targets, None, None)[:3]
    grid = -(-columns // 32), which
    launch(("rows.cu", "add_partial_sums"), grid, (32, 32), partial, *targets, slabs, columns)


def drop(gpu, x, dropout):
    if dropout is not None:
        gpu.write_key(dropout.key)
        launch_over_rows("rows.cu", "drop", x, x, *gpu.dropout_arguments(dropout), *x.shape)


def take(gpu, x, rows, *, out):
    check_columns(x, out)
    if out.size:
        grid = row_grid(*out.shape)
        launch(("rows.cu", instance("take", x, out)), grid, (32, TALL), x, rows, out, *out.shape)


def add_rows(gpu, updates, rows, *, out):
    check_columns(out, updates)
    if len(rows):
        grid = (-(-len(rows) // TALL),)
        launch(("rows.cu", instance("add_rows", out, updates)), grid, (32, TALL), out, rows, updates, *updates.shape)
