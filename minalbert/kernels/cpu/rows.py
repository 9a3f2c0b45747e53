"""Operations on rows of numbers: add a vector, sum the rows, drop numbers, look rows up.

x: (R, C), C may be a slice of wider rows

A sum over an axis is a product with a vector of ones, and BLAS is several times faster at it than `sum`: it
adds along the vector registers, whichever axis is asked for.
"""

import numpy as np

from .tiles import tiles


def add_bias(x, bias):
    for rows in tiles(x):
        x[rows] += bias


def column_sums(x, *, out):
    """out adds Σ_rows x."""
    out += np.ones(len(x), x.dtype) @ x


def row_means(x):
    """(R, C) -> (R, 1)"""
    return (x @ np.full(x.shape[1], 1 / x.shape[1], x.dtype))[:, None]


def drop(x, dropout):
    """x becomes dropout(x); its own backward."""
    if dropout is not None:
        for rows in tiles(x, dropout.length):
            drop_tile(x[rows], dropout, rows.start)


def drop_tile(x, dropout, start):
    """x: whole examples, the first of which begins at row `start` of the slice."""
    examples = x.reshape(-1, dropout.length, x.shape[1])
    examples *= dropout.factors(examples, start // dropout.length)


def take(x, rows, *, out):
    np.take(x, rows, axis=0, out=out)
