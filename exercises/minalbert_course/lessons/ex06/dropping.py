"""The right answers of exercise 6 with dropout, and the numbers that it is marked with.

A mistake in dropout costs its own points: layers are compared with those that have the student's own dropout, too, and
encoders with those of the student's own layers.
"""

from typing import Any, NamedTuple

import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
)

from ...compare import Wrong
from ...outside import ramp
from ...values import NotWritten, Stopped

RATE = 0.3                                           # of the check with PyTorch's numbers
LONG = (2, 7, 1, 8, 2, 8)                            # a key; others have four numbers at most


def mask_of(shape, rate, key):
    return (np.random.default_rng(key).random(shape) >= rate).astype(float)


def dropped(x, rate, key):
    return x if key is None else x * (mask_of(x.shape, rate, key) / (1 - rate))


class DroppedPoint(NamedTuple):
    x: Any
    weights: dict
    eps: float
    rate: float
    key: Any
    dy: Any
    layers: int = 3

    @property
    def keys(self):
        """One for each layer."""
        return [None if self.key is None else (*self.key, layer) for layer in range(self.layers)]

    @property
    def small(self):
        """Is dy far smaller than usual?"""
        return np.abs(self.dy).max() < 1e-6

    @property
    def one(self):
        """What a layer is given, without dy."""
        return self.x, self.weights, self.eps, self.rate, self.key


def keys(draw):
    """Keys of one to four whole numbers."""
    yield (7, 3) if draw.first else tuple(draw.integers(0, 10**6, 2).tolist())
    for length in (1, 3, 4):
        key = tuple(draw.integers(0, 1000, length).tolist())
        yield key if length < 4 else (2**40 + key[0], *key[1:])      # of more than 32 bits


def weights_of(draw, H):
    return {"w": 1.5 * draw.matrix(H, H), "b": draw.normal(H), "gain": draw.gain(H), "bias": draw.normal(H)}


def points(draw):
    """As usual; without a batch or a second token; few numbers; many layers; a high rate."""
    B, T, H = draw.sizes(B=2, T=3, H=5, least=2)
    cases = ((B, T, H, 0.25, 3), (1, 1, 4, 0.5, 2), (3, 1, 2, 0.1, 1), (1, 4, 6, 0.625, 12), (B, T, 13, 0.4, 4))
    for (B, T, H, rate, layers), key in zip(cases, [*keys(draw), (0, 0)], strict=True):
        x, dy = draw.normal(B, T, H), draw.normal(B, T, H)
        weights = weights_of(draw, H)
        if layers == 4:                              # gelu of zeros is 0 in a row, dropped or not
            x[0, 0], weights["b"] = 0.0, 0 * weights["b"]
        yield DroppedPoint(x, weights, 0.1 + draw.number / 64, rate, key, dy, layers)


def point(draw):
    return next(points(draw))


def of_long_key(draw):
    """A point whose key has more numbers than others have."""
    return point(draw)._replace(key=LONG)


def ramps():
    """The point of the check with PyTorch's numbers."""
    weights = {"w": ramp(4, 4, start=5), "b": ramp(4, start=2), "gain": 1 + ramp(4, start=9, scale=0.5),
               "bias": ramp(4, start=3)}  # fmt: skip
    return DroppedPoint(ramp(2, 3, 4, start=1), weights, 0.1, RATE, (6, 2), ramp(2, 3, 4, start=7))


def layer(x, weights, eps, rate, key, drop=dropped):
    a, *_ = inside(x, weights)
    return layer_norm_forward(x + drop(a, rate, key), weights["gain"], weights["bias"], eps)[0]


def layer_back(dy, x, weights, eps, rate, key, drop=dropped, back=dropped, straight=1.0):
    """straight: how often what goes straight to x is added"""
    a, linear, gelu = inside(x, weights)
    _, norm = layer_norm_forward(x + drop(a, rate, key), weights["gain"], weights["bias"], eps)
    dtotal, dgain, dbias = layer_norm_backward(dy, norm)
    (dh,) = gelu_backward(back(dtotal, rate, key), gelu)
    dx, dw, db = linear_backward(dh, linear)
    return straight * dtotal + dx, {"w": dw, "b": db, "gain": dgain, "bias": dbias}


def inside(x, weights):
    """gelu(x w + b), and the two caches"""
    h, linear = linear_forward(x, weights["w"], weights["b"])
    a, gelu = gelu_forward(h)
    return a, linear, gelu


def encoder(p, keys, layer=layer):
    """y, states"""
    x, states = p.x, []
    for key in keys:
        states.append(x)
        x = layer(x, p.weights, p.eps, p.rate, key)
    return x, states


def encoder_back(p, states, keys, layer_back=layer_back):
    """dx, [the gradients of each layer], the last one first"""
    dy, found = p.dy, []
    for x, key in zip(states[::-1], keys[::-1], strict=True):
        dy, gradients = layer_back(dy, x, p.weights, p.eps, p.rate, key)
        found.append(gradients)
    return dy, found


def added(gradients):
    return {name: sum(own[name] for own in gradients) for name in gradients[0]}


def compared(compare, right, own):
    """compare(right()), or with what the student's own parts give: own() is None where they prove nothing."""
    try:
        compare(right())
    except Wrong as wrong:
        try:
            other = own()
            if other is None:
                raise wrong
            compare(other)
        except (Wrong, NotWritten, Stopped, ValueError, TypeError):
            raise wrong from None
