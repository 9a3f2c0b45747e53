"""Points of exercise 2's linear layer, and what mistakes make of sums over rows."""

import numpy as np

from minalbert.layers import linear_backward, linear_forward

from ...compare import Wrong, numbers
from ..corners import Corner, upstream

AFFINE = (
    Corner(B=1, T=1, I=1, O=1),
    Corner("tiny", B=2, T=4, I=3, O=1),
    Corner("large", B=4, T=1, I=2, O=3),
    Corner("large", B=1, T=3, I=1, O=2),
    Corner("zero", B=3, T=2, I=4, O=4),
    Corner(B=3, T=3, I=3, O=3),
    Corner(B=1, T=2, I=65, O=2),
    Corner(B=70, T=2, I=2, O=300),
    Corner(B=9, T=512, I=1, O=1),
)


def affine(draw):
    """x, w, b, dy"""
    B, T, I, O = draw.sizes(B=2, T=3, I=4, O=5, least=2)
    return draw.normal(B, T, I), draw.matrix(I, O), draw.gain(O), upstream(draw, B, T, O)


def affine_reference(x, w, b, dy):
    y, cache = linear_forward(x, w, b)
    return y, linear_backward(dy, cache)


def shaped(name, yours, expected, causes):
    """Wrong, with its cause, where the shape tells it. causes: {shape: words}"""
    shape = numbers(name, yours, expected.shape).shape
    if shape != expected.shape and shape in causes:
        raise Wrong(f"{name} has shape {shape}; it must be {expected.shape}", causes[shape])


def means(expected, B, T):
    return {} if B * T == 1 else {
        "the mean over rows is taken, where the sum is meant": expected / (B * T),
        "the mean over the batch is taken, where the sum is meant": expected / B,
        "the mean over places is taken, where the sum is meant": expected / T,
    }  # fmt: skip


def sequences(parts):
    """parts: what each sequence of the batch gives, which is added"""
    total = parts.sum(axis=0)
    return {} if len(parts) == 1 else {
        "only the last sequence of the batch reached it: add, do not assign": parts[-1],
        "only the first sequence of the batch reached it": parts[0],
        "the last sequence of the batch is left out": total - parts[-1],
        "the first sequence of the batch is left out": total - parts[0],
    }  # fmt: skip


def wrong_inputs(x, w, dy):
    """What mistakes make of dx."""
    return {
        "this is dy itself": dy,
        "x is used where dy is meant": x,
        "w is reshaped to (O, I), where it must be transposed": dy @ w.reshape(w.shape[::-1]),
    }


def wrong_weights(x, w, b, dy, expected):
    """What mistakes make of dw."""
    return means(expected, *x.shape[:2]) | {
        "only the last sequence of the batch reached it: add, do not assign": x[-1].T @ dy[-1],
        "only the first sequence of the batch reached it": x[0].T @ dy[0],
        "x is taken as ones: this is db in each row": np.broadcast_to(dy.sum(axis=(0, 1)), expected.shape),
        "y is used where dy is meant": np.einsum("bti,bto->io", x, x @ w + b),
        "the rows of x are in another order than those of dy": np.einsum("bti,bto->io", x[::-1], dy),
        "x is reshaped to (I, rows), where its rows must be transposed":
            x.reshape(x.shape[-1], -1) @ dy.reshape(-1, dy.shape[-1]),
    }  # fmt: skip


def wrong_biases(b, dy, expected):
    """What mistakes make of db."""
    B, T, O = dy.shape
    return means(expected, B, T) | sequences(dy.sum(axis=1)) | {
        "every second row alone is added": dy.reshape(-1, O)[::2].sum(axis=0),
        "the first row is left out": expected - dy[0, 0],
        "the last row is left out": expected - dy[-1, -1],
        "only the first row reached it": dy[0, 0],
        "only the last row reached it: add, do not assign": dy[-1, -1],
        "the first place of each sequence is left out": expected - dy[:, 0].sum(axis=0),
        "the last place of each sequence is left out": expected - dy[:, -1].sum(axis=0),
        "multiplied by b, which the gradient of b does not need": expected * b,
    }  # fmt: skip
