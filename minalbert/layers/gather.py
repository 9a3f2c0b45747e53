"""Take some positions of each sequence: those whose output a loss reads, [CLS] and the masked ones.

    y[b, p] = x[b, positions[b, p]]

Backward adds each row of dy where it was taken from. Two predictions may come from one position (unused slots all point
at position 0), so rows must be added, never assigned:

    dx[b, positions[b, p]] += dy[b, p]

x: (B, T, H)   positions: (B, P) integers, or None: all, and y is x   y: (B, P, H)
cache: the row numbers in (B T, H) and x's shape, or None
"""

from ..backend import array_module, scatter_add


def gather_forward(x, positions):
    if positions is None:
        return x, None
    xp = array_module(x)
    B, T, H = x.shape
    rows = positions + T * xp.arange(B)[:, None]     # (B, P), into the flattened (B T, H)
    return x.reshape(B * T, H)[rows], (rows, x.shape)


def gather_backward(dy, cache):
    if cache is None:
        return dy, None
    rows, shape = cache
    dx = scatter_add((shape[0] * shape[1], shape[2]), rows, dy)
    return dx.reshape(shape), None
