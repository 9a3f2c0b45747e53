"""Reversible layers (Gomez et al. 2017): a layer's input can be computed from its output, so no layer keeps anything.

    y1 = x1 + attention(norm(x2))                    x2 = y2 - ffn(norm(y1))
    y2 = x2 + ffn(norm(y1))                          x1 = y1 - attention(norm(x2))

Two streams go through the layers. Each half reads one of them and adds what it computes to the other. The stream that
it read stays as it is, so backward computes the half once more, subtracts the result, and has input and cache again.
A half has the tensors that it has in `block`; its norm stands before it. Both streams begin as the embeddings' output,
and the encoder's output is their mean.

What was added and is subtracted again leaves a rounding error, which grows with the layers. At the first layer's input
the two streams should be the same: their difference measures it.

    x1, x2: (B, T, H)   y1, y2: (B, Q, H), at `positions` (B, Q), in the last layer; everywhere else Q = T

A last layer of few positions cannot be undone. So the streams are kept as they enter it, and backward begins there.
"""

import warnings
from typing import Any, NamedTuple

from ..backend import array_module
from ..layers import (
    dropout_backward,
    dropout_forward,
    gather_backward,
    gather_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
)
from ..params import ATTENTION, FFN, NORM, half_name
from .block import ATTENTION_SITE, FFN_SITE, PROBS_SITE, activation, sparse_pair
from .gradients import add_to

LARGEST_ERROR = 0.01                                 # of a reconstructed input, relative


class AttentionBranchCache(NamedTuple):
    layer: int
    norm: Any
    attention: Any                                   # multi_head's cache
    dropout: Any


class FfnBranchCache(NamedTuple):
    layer: int
    norm: Any
    up: Any
    gelu: Any
    down: Any
    dropout: Any


def attention_branch_forward(x, layer, ctx, positions=None):
    """attention(norm(x))"""
    config = ctx.config
    y, norm = layer_norm_forward(x, *ctx.weights("attention", layer, NORM), config.layer_norm_eps)
    y, attention = multi_head_forward(
        y, *ctx.weights("attention", layer, ATTENTION), ctx.mask, config.num_attention_heads,
        config.attention_probs_dropout_prob, ctx.key_at(layer=layer, site=PROBS_SITE), positions, sparse_pair(config),
    )  # fmt: skip
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=ATTENTION_SITE))
    return y, AttentionBranchCache(layer, norm, attention, dropout)


def attention_branch_backward(dy, cache, ctx, grads):
    (dy,) = dropout_backward(dy, cache.dropout)
    dy, *dattention, _ = multi_head_backward(dy, cache.attention)
    dx, *dnorm = layer_norm_backward(dy, cache.norm)
    add_to(grads, half_name(ctx.config, "attention", cache.layer), ATTENTION + NORM, dattention + dnorm)
    return dx


def ffn_branch_forward(x, layer, ctx):
    """ffn(norm(x))"""
    config = ctx.config
    act_forward, _ = activation(config)
    w_up, b_up, w_down, b_down = ctx.weights("ffn", layer, FFN)
    y, norm = layer_norm_forward(x, *ctx.weights("ffn", layer, NORM), config.layer_norm_eps)
    y, up = linear_forward(y, w_up, b_up)                           # (B, T, F)
    y, gelu = act_forward(y)
    y, down = linear_forward(y, w_down, b_down)                     # (B, T, H)
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=FFN_SITE))
    return y, FfnBranchCache(layer, norm, up, gelu, down, dropout)


def ffn_branch_backward(dy, cache, ctx, grads):
    _, act_backward = activation(ctx.config)
    (dy,) = dropout_backward(dy, cache.dropout)
    dy, *ddown = linear_backward(dy, cache.down)
    (dy,) = act_backward(dy, cache.gelu)
    dy, *dup = linear_backward(dy, cache.up)
    dx, *dnorm = layer_norm_backward(dy, cache.norm)
    add_to(grads, half_name(ctx.config, "ffn", cache.layer), FFN + NORM, dup + ddown + dnorm)
    return dx


def reversible_block_forward(x1, x2, layer, ctx, positions=None):
    a, attention = attention_branch_forward(x2, layer, ctx, positions)
    x1, gather = gather_forward(x1, positions)
    y1 = x1 + a
    f, ffn = ffn_branch_forward(y1, layer, ctx)
    x2, _ = gather_forward(x2, positions)
    y2 = x2 + f
    return y1, y2, (gather, attention, ffn)


def reversible_block_backward(dy1, dy2, cache, ctx, grads):
    gather, attention, ffn = cache
    dx2, _ = gather_backward(dy2, gather)            # forward: y2 = x2 + f
    dy1 = dy1 + ffn_branch_backward(dy2, ffn, ctx, grads)
    dx1, _ = gather_backward(dy1, gather)            # forward: y1 = x1 + a
    dx2 = dx2 + attention_branch_backward(dy1, attention, ctx, grads)
    return dx1, dx2


def reversible_block_inputs(y1, y2, layer, ctx):
    """x1, x2 and the cache of the layer whose output this is, at all positions."""
    f, ffn = ffn_branch_forward(y1, layer, ctx)
    x2 = y2 - f                                      # forward: y2 = x2 + f
    a, attention = attention_branch_forward(x2, layer, ctx)
    x1 = y1 - a                                      # forward: y1 = x1 + a
    return x1, x2, (None, attention, ffn)


def reversible_forward(x, ctx, positions=None):
    x1, x2, last = x, x, ctx.config.num_hidden_layers - 1
    for layer in range(last):
        x1, x2 = reversible_block_forward(x1, x2, layer, ctx)[:2]
    y1, y2, _ = reversible_block_forward(x1, x2, last, ctx, positions)
    return (y1 + y2) / 2, (x1, x2, positions)


def reversible_backward(dx, cache, ctx, grads):
    (x1, x2, positions), last = cache, ctx.config.num_hidden_layers - 1
    dx1 = dx2 = dx / 2
    for layer in reversed(range(last + 1)):
        if layer == last:
            *_, cache = reversible_block_forward(x1, x2, layer, ctx, positions)
        else:
            x1, x2, cache = reversible_block_inputs(x1, x2, layer, ctx)
        dx1, dx2 = reversible_block_backward(dx1, dx2, cache, ctx, grads)
        del cache                                    # before the next layer makes its own
    if not streams_apart(x1, x2) <= LARGEST_ERROR:   # not a number is no small error either
        advice = "fewer layers" if x1.dtype == "float64" else "float64 or fewer layers"
        warnings.warn(f"{last + 1} reversible layers reconstruct their input in {x1.dtype} with an error above "
                      f"{LARGEST_ERROR:g} of it, so that gradients are no longer exact: use {advice}",
                      stacklevel=2)  # fmt: skip
    return dx1 + dx2


def streams_apart(x1, x2):
    """The distance of what should be the same, relative to its length."""
    norm = array_module(x1).linalg.norm
    return float(norm(x1 - x2) / norm(x1))


def reversible_layers(x, ctx, positions=None):
    """What the encoder's output would be after one layer, after two, ..., and each layer's cache."""
    x1, x2, last = x, x, ctx.config.num_hidden_layers - 1
    for layer in range(last + 1):
        x1, x2, cache = reversible_block_forward(x1, x2, layer, ctx, positions if layer == last else None)
        yield (x1 + x2) / 2, cache
