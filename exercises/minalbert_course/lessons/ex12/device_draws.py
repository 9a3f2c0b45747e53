"""The numbers that exercise 12 is marked with: usual ones, and those that an answer may forget."""

import numpy as np

from ...narrow import ROWS
from ..many_rows import last_rows

EPS = 0.1


def gelu_points(draw):
    """As the exercise has them, then where an answer may be wrong: few axes or many, near zero and far from it."""
    T, F = draw.sizes(T=4, F=5)
    yield draw.normal(T, F, scale=2)
    yield draw.uniform(-1.5, 1.5, T, F)              # where the constants tell most
    for shape, scale in (((F,), 2), ((1, 1), 2), ((2, T, F), 1), ((2, 1, T, F), 1), ((T, F), 20), ((T, F), 1e-3)):
        yield draw.normal(*shape, scale=scale)
    yield np.zeros((T, F))


def beside_large(draw):
    """shape, rows, updates: the updates of row 0 are so large that float32 loses the others beside them"""
    updates = draw.normal(6, 3).astype(np.float32)
    updates[:2] *= 1e9
    return (4, 3), np.array([0, 0, 1, 2, 1, 3]), updates


def norm_points(draw):
    """x, gain, bias, eps"""
    B, T, H = draw.sizes(B=2, T=3, H=5, least=2)
    gain, bias = draw.gain(H), draw.normal(H)
    yield 3 + draw.normal(B, T, H), gain, bias, EPS
    for shape, scale, eps in (((H,), 1, EPS), ((1, H), 1, 1e-5), ((T, H), 30, 1.0), ((2, T, B, H), 0.02, 1e-3),
                              ((1, 1, H), 1, 20.0), ((B, T, H), 1e-3, 1e-12)):  # fmt: skip
        yield draw.normal(*shape, scale=scale) + scale, gain, bias, eps
    yield draw.normal(B, T, 1), gain[:1], bias[:1], EPS
    yield draw.normal(B, T, H), gain, 0 * bias, EPS
    yield draw.normal(B, T, H), 0 * gain, bias, EPS
    yield draw.normal(B, T, H), 30 * gain, 40 * bias, EPS
    yield np.zeros((B, T, H)), gain, bias, EPS
    if draw.first:
        yield draw.normal(70, 3), draw.gain(3), draw.normal(3), EPS
    yield draw.normal(4, 4), draw.gain(4), draw.normal(4), EPS


def long_rows(draw):
    """x, gain, bias, eps, for the host alone: a loop over so many numbers asks the device some thousand times."""
    if draw.first:
        yield draw.normal(4, 300), draw.gain(300), draw.normal(300), EPS


def many_rows(draw):
    """shape, rows, updates: the numbers of the last rows need more than 16 bits"""
    return (ROWS, 1), last_rows(draw, 3), draw.normal(3, 1)


def updates_of(draw):
    """shape, rows, updates: a row is named twice, and the last never; then few of all, and many"""
    V, H, R = draw.sizes(V=5, H=3, R=6, least=3)
    rows = draw.integers(0, V - 1, R)
    rows[:2] = 1
    yield (V, H), rows, draw.normal(R, H)
    yield (V, H), rows, draw.normal(R, H).astype(np.float32)
    few = (1, 3, 4, 1), (5, 1, 4, 1), (5, 3, 1, 1), (4, 4, 6, 1)
    many = [(13, 2, 40, 20), *([(2, 3, 300, 0.01)] if draw.first else [])]
    for V, H, R, scale in (*few, *many):
        yield (V, H), draw.integers(0, V, R), draw.normal(R, H, scale=scale)
    yield (4, 3), np.array([3, 0, 3, 3]), draw.normal(4, 3)
    yield (4, 3), np.array([0, 0, 0]), draw.normal(3, 3)
    yield (4, 3), np.array([2, 0, 2]), np.ones((3, 3))
    yield (4, 3), np.array([2, 0, 2]), np.ones((3, 3), np.float16)
    zeros = draw.normal(5, 3)                        # updates of zeros count, too
    zeros[1], zeros[2, 0] = 0, 0
    yield (4, 3), np.array([2, 2, 2, 0, 0]), zeros
    for dtype in (np.float64, np.float32):           # no row is named
        yield (4, 3), np.zeros(0, int), np.zeros((0, 3), dtype)
    yield (4, 3), np.array([3, 1, 1, 1]), zeros[[0, 3, 3, 4]]       # a row has two equal updates and another
