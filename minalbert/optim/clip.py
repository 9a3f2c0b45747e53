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
    with np.errstate(over="ignore", invalid="ignore"):
        whole = len(x) - len(x) % PIECE
        pieces, rest = x[:whole].reshape(-1, PIECE), x[whole:]
        total = np.vecdot(pieces, pieces).sum(dtype=np.float64)
        if len(rest):
            total += np.vecdot(rest, rest)
        if not math.isfinite(total):                 # squares of 1e20 are beyond float32, though not beyond float64
            total = np.square(x, dtype=np.float64).sum()
    return total


def global_norm(grads):
    """√(Σ g²) over all tensors, on their device."""
    of_kind("grads", grads, Params)
    return array_module(grads.flat).sqrt(sum_of_squares(grads.flat))


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
