"""The numbers that exercise 9 is marked with: usual ones, and those that an answer may forget."""

import numpy as np

from ...narrow import ROWS
from ...outside import ramp
from ..many_rows import last_rows

SINGLES = {}, {"B": 1}, {"P": 1}, {"B": 1, "P": 1}, {"E": 1}, {"V": 1}, {"V": 300}, {"E": 5, "V": 5}
PLACES = {}, {"B": 1}, {"P": 1}, {"P": 9, "T": 4}, {"T": 1}, {"H": 1}, {"P": 12, "T": 300}
SCALES = (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (30, 1, 1, 30), (1, 30, 30, 1)
STEPS = (1.0, -3.0, 0.0, 25.0, 2000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0,
         1.0, 1.0)  # fmt: skip


def slots(draw, scale=2.0, **fixed):
    """logits (B, P, K), labels, weights: some slots are empty, no two weights of others alike, their sum not one.

    The first label is the least likely: where all have a p near 1, float32 would not hold the digits of p - 1.
    """
    B, P, K = sizes_of(draw, fixed, B=2, P=5, K=7)
    logits, labels = draw.normal(B, P, K, scale=scale), draw.integers(0, K, B, P)
    labels[0, 0] = logits[0, 0].argmin()
    weights = draw.uniform(0.5, 3.0, B, P)
    if P > 1:
        weights[:, -1] = 0.0
        labels[:, -1] = 0
    return logits, labels, weights


def sizes_of(draw, fixed, **usual):
    """Sizes, of which some are fixed."""
    sizes = dict(zip(usual, draw.sizes(**usual, least=2), strict=True))
    return (sizes | fixed).values()


def kinds(draw):
    """slots, then the shapes and sizes for which an answer may be made by mistake."""
    yield slots(draw)
    yield slots(draw, B=1)
    yield slots(draw, P=1)
    yield slots(draw, K=13)
    logits, labels, weights = slots(draw)
    yield logits, labels, 0.02 * weights / weights.sum()  # a sum far below one
    yield logits, labels, np.pi * 1e-5 * weights / weights.sum()
    yield logits, labels, 1e-20 * weights / weights.sum()
    yield 0.01 * logits, 0 * labels, weights + 0.25  # no empty slot, and the first word alone
    yield 0 * logits, labels, weights
    yield 30 * logits, labels, weights                # p of many a label is nearly 0
    yield logits, labels, weights * 0.1 ** np.arange(weights.shape[-1])
    yield tuple(np.stack([each, each[::-1]]) for each in (logits, labels, 20 * weights))
    yield pairs(draw)
    yield logits, labels, np.arange(labels.size).reshape(labels.shape) % 3           # whole numbers are weights, too
    yield logits[0, 0], np.array(labels[0, 0]), np.array(weights[0, 0])               # one target alone
    logits, labels, weights = slots(draw, K=300)
    yield logits, np.maximum(labels, 256), weights
    yield slots(draw, B=4, P=4, K=4)
    logits, labels, weights = slots(draw, B=3, P=3)
    yield logits[0, :, :3], labels[0] % 3, weights[0]        # as many targets as words


def many_words(draw):
    logits, labels, weights = slots(draw, B=1, P=3, K=ROWS)
    return logits, last_rows(draw, *labels.shape), weights


def pairs(draw):
    """As SOP has them: logits (B, 2), labels (B,), the first the less likely, and weights of one."""
    B = 3 + draw.number
    logits, labels = draw.normal(B, 2), draw.integers(0, 2, B)
    labels[0] = logits[0].argmin()
    return logits, labels, np.ones(B)


def states(draw, **fixed):
    B, P, E, V = sizes_of(draw, fixed, B=2, P=3, E=4, V=9)
    return draw.normal(B, P, E), draw.matrix(E, V).T.copy(), draw.normal(V), draw.normal(B, P, V)


def every_state(draw):
    """states, then with sizes of one, with zeros, and with large numbers."""
    for fixed in SINGLES:
        yield states(draw, **fixed)
    for scales in SCALES:
        yield tuple(scale * array for scale, array in zip(scales, states(draw), strict=True))
    yield states(draw, B=70)
    yield states(draw, P=6, V=6)
    yield states(draw, **dict.fromkeys("BPEV", 4))   # equal sizes: an axis is not known by its size


def every_place(draw):
    """places, then with sizes of one, more than ten, with zeros, and with large numbers."""
    for fixed in PLACES:
        yield places(draw, **fixed)
    x, positions, dy = places(draw)
    yield 30 * x, positions, 30 * dy
    yield 0 * x, positions, 0 * dy
    yield x, 0 * positions, dy
    yield x, positions, np.ones_like(dy)
    yield places(draw, B=70, H=300)
    yield places(draw, **dict.fromkeys("BTPH", 4))
    yield places(draw, B=5, P=5)


def places(draw, **fixed):
    """x, positions with repeats, dy"""
    B, T, P, H = sizes_of(draw, fixed, B=2, T=6, P=4, H=3)
    positions = draw.integers(0, T, B, P)
    positions[:, 0] = positions[:, -1] = 0  # as empty slots have
    positions[-1, -1] = T - 1
    return draw.normal(B, T, H), positions, draw.normal(B, P, H)


def far_places(draw):
    """As places, of so many that the numbers of the last ones need more than 16 bits"""
    return draw.normal(1, ROWS, 1), last_rows(draw, 1, 4), draw.normal(1, 4, 1)


def torch_case():
    """The table's rows, looked up, are x at the same time: its gradient has both parts."""
    table, bias, ids = ramp(6, 4, start=1), ramp(6, start=2, scale=0.5), np.array([[1, 4, 1], [0, 2, 4]])
    labels, weights = np.array([[2, 5, 1], [3, 3, 0]]), np.array([[1.0, 0.5, 2.0], [1.0, 2.5, 0.0]])
    return table[ids], table, bias, ids, labels, weights
