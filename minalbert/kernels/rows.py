"""What is done to rows of numbers in passing: add a vector, sum them up, drop some.

x: (R, C), C may be a slice of wider rows

A sum over an axis is a product with a vector of ones, and BLAS is several times faster at it than `sum`: it
adds along the vector registers, whichever axis is asked for.
"""

import numpy as np

from .tiles import tiles


def add_bias(x, bias):
    for rows in tiles(x):
        x[rows] += bias


def column_sums(x, sums):
    """sums adds Σ_rows x."""
    sums += np.ones(len(x), x.dtype) @ x


def row_means(x):
    """(R, C) -> (R, 1)"""
    return (x @ np.full(x.shape[1], 1 / x.shape[1], x.dtype))[:, None]


def drop(x, coins):
    """x becomes dropout(x); its own backward."""
    if coins is not None:
        for rows in tiles(x, coins.length):
            drop_tile(x[rows], coins, rows.start)


def drop_tile(x, coins, start):
    """x: whole examples, of which the first begins at row `start` of the part."""
    examples = x.reshape(-1, coins.length, x.shape[1])
    examples *= coins.factors(examples, start // coins.length)


def take(x, rows, out):
    np.take(x, rows, axis=0, out=out)


def add_rows(x, rows, updates):
    """x[rows] adds updates; a row named twice gets both."""
    np.add.at(x, rows, updates)
