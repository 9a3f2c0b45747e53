"""Take some positions of each sequence: the masked ones, which alone are predicted.

    y[b, p] = x[b, positions[b, p]]

Backward sends each row of dy home. Two predictions may come from one position (unused slots all point
at position 0), so rows must be added, never assigned:

    dx[b, positions[b, p]] += dy[b, p]

x: (B, T, H)   positions: (B, P) integers   y: (B, P, H)   cache: the row numbers in (B T, H) and x's shape
"""

from ..backend import array_module, scatter_add


def gather_forward(x, positions):
    xp = array_module(x)
    B, T, H = x.shape
    rows = positions + T * xp.arange(B)[:, None]     # (B, P), into the flattened (B T, H)
    return x.reshape(B * T, H)[rows], (rows, x.shape)


def gather_backward(dy, cache):
    rows, shape = cache
    dx = scatter_add((shape[0] * shape[1], shape[2]), rows, dy)
    return dx.reshape(shape), None
