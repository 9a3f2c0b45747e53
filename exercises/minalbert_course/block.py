"""The library's block as the variants of exercise 6 are given it: weights by name, heads and eps as numbers.

    y, cache     = block_forward(x, weights, mask, heads, eps)
    dx, dweights = block_backward(dy, cache)

x, y: (B, T, H)   mask: (B, 1, 1, T), added to the scores   weights: {"attention.query.w": (H, H), ...}, see NAMES
"""

import functools

import numpy as np

from minalbert.config import AlbertConfig
from minalbert.model import PLAIN, Context, block
from minalbert.params import ATTENTION, FFN, NORM

ATTENTION_NAMES = tuple(f"attention.{name}" for name in ATTENTION + NORM)
FFN_NAMES = tuple(f"ffn.{name}" for name in FFN + NORM)
NAMES = ATTENTION_NAMES + FFN_NAMES


def config_of(weights, heads, eps, layers=1, **sharing):
    """The configuration of an encoder with layers of these weights."""
    shape = weights["ffn.up.w"].shape
    if len(shape) != 2:
        raise ValueError(f"ffn.up.w has the shape {shape}; it is a matrix (H, F)")
    return encoder_config(*shape, heads, eps, layers, **sharing)


@functools.lru_cache(256, typed=True)                # to look through it takes as long as a layer
def encoder_config(H, F, heads, eps, layers, **sharing):
    return AlbertConfig(
        embedding_size=H, hidden_size=H, intermediate_size=F, num_attention_heads=heads, num_hidden_layers=layers,
        layer_norm_eps=eps, hidden_act="gelu_new", **sharing,
    )  # fmt: skip


def block_forward(x, weights, mask, heads, eps):
    params = {f"encoder.{name}": weights[name] for name in NAMES}
    ctx = Context(config_of(weights, heads, eps), params, mask, None, PLAIN)
    y, cache = block.block_forward(x, 0, ctx)
    return y, (cache, ctx)


def encoder_forward(x, sets, mask, heads, eps):
    """sets: the weights of each layer   Returns y, and no cache."""
    for weights in sets:
        x, _ = block_forward(x, weights, mask, heads, eps)
    return x, None


def block_backward(dy, cache):
    cache, ctx = cache
    grads = {name: np.zeros_like(tensor) for name, tensor in ctx.params.items()}
    dx = block.block_backward(dy, cache, ctx, grads)
    return dx, {name.removeprefix("encoder."): gradient for name, gradient in grads.items()}
