"""The block: two halves, each a sublayer, a residual connection and a norm.

    y = norm(x + attention(x))                       attention_half
    y = norm(x + down(gelu(up(x))))                  ffn_half

`half_name` says whose weights a layer uses. With everything shared, all layers get the same name, read the same
tensors, and add into the same gradients.

`positions` (B, Q) are those whose output is wanted; None: all. In the last layer, where the losses read few tokens,
queries and all that follows are computed for those alone, keys and values for all.

    x: (B, T, H)   y: (B, Q, H)
"""

import functools
from typing import Any, NamedTuple

from ..layers import (
    Pattern,
    dropout_backward,
    dropout_forward,
    gather_backward,
    gather_forward,
    gelu_backward,
    gelu_erf_backward,
    gelu_erf_forward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
    sparse_attention_backward,
    sparse_attention_forward,
)
from ..params import ATTENTION, FFN, NORM, half_name
from .gradients import add_to

PROBS_SITE, ATTENTION_SITE, FFN_SITE = 1, 2, 3       # where in a layer numbers are dropped


class AttentionHalfCache(NamedTuple):
    layer: int
    gather: Any
    attention: Any                                   # multi_head's cache
    dropout: Any
    norm: Any


class FfnHalfCache(NamedTuple):
    layer: int
    up: Any
    gelu: Any
    down: Any
    dropout: Any
    norm: Any


def attention_half_forward(x, layer, ctx, positions=None):
    config = ctx.config
    residual, gather = gather_forward(x, positions)
    y, attention = multi_head_forward(
        x, *ctx.weights("attention", layer, ATTENTION), ctx.mask, config.num_attention_heads,
        config.attention_probs_dropout_prob, ctx.key_at(layer=layer, site=PROBS_SITE), positions, sparse_pair(config),
    )  # fmt: skip
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=ATTENTION_SITE))
    y += residual
    y, norm = layer_norm_forward(y, *ctx.weights("attention", layer, NORM), config.layer_norm_eps)
    return y, AttentionHalfCache(layer, gather, attention, dropout, norm)


def attention_half_backward(dy, cache, ctx, grads):
    dy, *dnorm = layer_norm_backward(dy, cache.norm)
    dresidual = dy                                                  # forward: y += residual
    (dy,) = dropout_backward(dy, cache.dropout)
    dx, *dattention, _ = multi_head_backward(dy, cache.attention)
    dx += gather_backward(dresidual, cache.gather)[0]
    add_to(grads, half_name(ctx.config, "attention", cache.layer), ATTENTION + NORM, dattention + dnorm)
    return dx


def ffn_half_forward(x, layer, ctx):
    config = ctx.config
    act_forward, _ = activation(config)
    w_up, b_up, w_down, b_down = ctx.weights("ffn", layer, FFN)
    y, up = linear_forward(x, w_up, b_up)                           # (B, T, F)
    y, gelu = act_forward(y)
    y, down = linear_forward(y, w_down, b_down)                     # (B, T, H)
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=FFN_SITE))
    y += x
    y, norm = layer_norm_forward(y, *ctx.weights("ffn", layer, NORM), config.layer_norm_eps)
    return y, FfnHalfCache(layer, up, gelu, down, dropout, norm)


def ffn_half_backward(dy, cache, ctx, grads):
    _, act_backward = activation(ctx.config)

    dy, *dnorm = layer_norm_backward(dy, cache.norm)
    dresidual = dy                                                  # forward: y += x
    (dy,) = dropout_backward(dy, cache.dropout)
    dy, *ddown = linear_backward(dy, cache.down)
    (dy,) = act_backward(dy, cache.gelu)
    dx, *dup = linear_backward(dy, cache.up)
    dx += dresidual
    add_to(grads, half_name(ctx.config, "ffn", cache.layer), FFN + NORM, dup + ddown + dnorm)
    return dx


def block_forward(x, layer, ctx, positions=None):
    x, attention = ctx.pairs.attention_half.forward(x, layer, ctx, positions)
    x, ffn = ctx.pairs.ffn_half.forward(x, layer, ctx)
    return x, (attention, ffn)


def block_backward(dx, cache, ctx, grads):
    attention, ffn = cache

    dx = ctx.pairs.ffn_half.backward(dx, ffn, ctx, grads)
    return ctx.pairs.attention_half.backward(dx, attention, ctx, grads)


def pattern_of(config):
    """Which tokens see which, or None where each sees all."""
    if config.attention == "full":
        return None
    return Pattern(config.attention, config.attention_window, config.attention_stride, config.attention_global)


def sparse_pair(config):
    """The attention pair for `config.attention`, or None for the full one."""
    pattern = pattern_of(config)
    return pattern and (functools.partial(sparse_attention_forward, pattern=pattern), sparse_attention_backward)


def activation(config):
    """The pair for `config.hidden_act`: GELU in its tanh or its erf form."""
    return (gelu_forward, gelu_backward) if config.gelu_form == "tanh" else (gelu_erf_forward, gelu_erf_backward)
