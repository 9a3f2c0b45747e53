"""The norm of the whole gradient, and a limit to it (Pascanu et al., 2013).

    norm = √(Σ g²)   over all tensors            g ← g limit / max(norm, limit)

A bad batch then moves the weights no further than a good one, in the same direction. A norm that is not finite is
returned as it is, so that the training loop can see it.

The sum over each piece of 4096 numbers is taken in the gradient's own precision, and the sum over pieces in float64.
BLAS does not divide such short pieces among threads, so that no bit depends on the number of threads.
"""

import math

import numpy as np

from ..arguments import number, of_kind
from ..backend import array_module
from ..params import Params

PIECE = 4096


def sum_of_squares(x):
    """Σ x² of a vector, a float64 on its device."""
    if array_module(x) is not np:
        return array_module(x).square(x.astype("float64")).sum()
    return added(lambda dtype: squares(x, dtype), len(x))


def global_norm(grads):
    """√(Σ g²) over all tensors, on their device."""
    flat = of_kind("grads", grads, Params).flat
    return array_module(flat).sqrt(added(lambda dtype: squares(flat, dtype), len(flat)))


def added(squares_of, length):
    """Σ x² of a vector of this length, a float64. squares_of(dtype) -> the vector's `squares`"""
    total = in_order(squares_of(None), length)
    if isinstance(total, float) and not math.isfinite(total):    # on the host: squares of 1e20 are beyond float32
        total = in_order(squares_of("float64"), length)
    return total


def in_order(found, length):
    """The sum of a vector's `squares`: of all whole pieces, then of the rest."""
    whole = length // PIECE
    total = found[:whole].sum(dtype="float64") if whole else 0.0
    return total + found[whole].astype("float64") if len(found) > whole else total


def squares(x, dtype=None):
    """Σ x² of each piece of a vector, of which the last may be shorter. dtype: None for the vector's own precision."""
    whole, xp = len(x) - len(x) % PIECE, array_module(x)
    pieces, rest = x[:whole].reshape(-1, PIECE), x[whole:]

    def sums(part):
        return xp.square(part.astype("float64")).sum(axis=-1) if dtype or xp is not np else np.vecdot(part, part)

    with np.errstate(over="ignore", invalid="ignore"):
        if not len(rest):
            return sums(pieces)
        last = sums(rest).reshape(1)
        return xp.concatenate([sums(pieces), last]) if whole else last


def clip_factor(norm, limit):
    """The factor that makes the gradient's norm at most `limit`; a limit of 0 means no limit."""
    limit = number("limit", limit, least=0)
    if getattr(norm, "ndim", None) != 0:             # an array's scalar, as global_norm gives it
        norm = np.float64(number("norm", norm, least=0))
    return limit / array_module(norm).maximum(norm, limit) if limit else 1.0


def first_bad(params):
    """The name of the first tensor that holds a NaN or an infinity, or None."""
    of_kind("params", params, Params)
    for name, tensor in params.items():
        if not bool(array_module(tensor).isfinite(tensor).all()):
            return name
    return None
