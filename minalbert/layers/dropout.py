"""Inverted dropout: each number is kept or dropped at random, and scaled so that the mean stays.

    y = x mask scale                   dx = dy mask scale                   scale = 1 / (1 - rate)

x, y: (B, ...)   cache: mask (one byte per number) and scale, or None where nothing is dropped and y is x

The rate is rounded to a multiple of 2⁻¹⁶, in mask and scale alike.

The mask comes from a counter, not from a state: `key`, a `DropoutKey`, says which mask it is (seed, step,
layer, site, and the first example of a slice of the batch). So a recomputed forward pass, a GPU, and any number of
workers all sample the same mask. Without a key nothing is dropped.
"""

from ..backend import dropout_mask


def dropout_forward(x, rate=0.0, key=None):
    if key is None or rate == 0.0:
        return x, None
    mask, scale = dropout_mask(x, rate, key)
    y = x * mask
    y *= scale
    return y, (mask, scale)


def dropout_backward(dy, cache):
    if cache is None:
        return (dy,)
    mask, scale = cache
    dx = dy * mask
    dx *= scale
    return (dx,)
