"""Inverted dropout: a coin per element, scaled so that the mean stays.

    y = x keep scale                   dx = dy keep scale                   scale = 1 / (1 - rate)

x, y: (B, ...)   cache: keep (one byte per element) and scale, or None where nothing is dropped and y is x

The rate is rounded to a multiple of 2⁻¹⁶, in coins and scale alike.

The coins come from a counter, not from a state: `stream` says where in the run we are (seed, step,
layer, site), and example b of the batch has its own stretch of the counter. So a recomputed forward, a
GPU, and a batch split over workers all draw the same mask. Without a stream nothing is dropped.
"""

from ..backend import keep_mask


def dropout_forward(x, rate=0.0, stream=None):
    if stream is None or rate == 0.0:
        return x, None
    keep, scale = keep_mask(x, rate, stream)
    y = x * keep
    y *= scale
    return y, (keep, scale)


def dropout_backward(dy, cache):
    if cache is None:
        return (dy,)
    keep, scale = cache
    dx = dy * keep
    dx *= scale
    return (dx,)
