"""The encoder: one block, applied L times.

    x = norm(x + attention(x))
    x = norm(x + down(gelu(up(x))))

Sharing is a loop over the same weights. `part_name` says whose weights a layer uses: with everything
shared, all layers get the same name, read the same tensors, and add into the same gradients.

    x: (B, T, H)   mask: (B, 1, 1, T), added to the attention scores
"""

from typing import Any, NamedTuple

from ..layers import (
    GELU,
    attention_probs,
    dropout_backward,
    dropout_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
)
from ..params import ATTENTION, FFN, NORM, part_name
from .gradients import add_to

PROBS_SITE, ATTENTION_SITE, FFN_SITE = 1, 2, 3       # where in a layer a dropout coin is thrown


class Context(NamedTuple):
    """What every layer sees beside its input."""

    params: Any
    mask: Any
    config: Any
    stream: Any = None

    def tensors(self, part, layer, names):
        prefix = part_name(self.config, part, layer)
        return [self.params[f"{prefix}.{name}"] for name in names]

    def stream_at(self, layer, site):
        return self.stream and self.stream.at(layer=layer, site=site)


def attention_part_forward(x, layer, context):
    config = context.config
    y, attention = multi_head_forward(
        x, *context.tensors("attention", layer, ATTENTION), context.mask, config.num_attention_heads,
        config.attention_probs_dropout_prob, context.stream_at(layer, PROBS_SITE),
    )  # fmt: skip
    y, coins = dropout_forward(y, config.hidden_dropout_prob, context.stream_at(layer, ATTENTION_SITE))
    y += x
    y, norm = layer_norm_forward(y, *context.tensors("attention", layer, NORM), config.layer_norm_eps)
    return y, (attention, coins, norm)


def attention_part_backward(dy, cache):
    attention, coins, norm = cache

    dy, *dnorm = layer_norm_backward(dy, norm)
    dresidual = dy                                                  # forward: y += x
    (dy,) = dropout_backward(dy, coins)
    dx, *dattention, _ = multi_head_backward(dy, attention)
    dx += dresidual
    return dx, dattention + dnorm


def ffn_part_forward(x, layer, context):
    config = context.config
    gelu_forward, _ = GELU[config.gelu_form]
    w_up, b_up, w_down, b_down = context.tensors("ffn", layer, FFN)
    y, up = linear_forward(x, w_up, b_up)                           # (B, T, F)
    y, gelu = gelu_forward(y)
    y, down = linear_forward(y, w_down, b_down)                     # (B, T, H)
    y, coins = dropout_forward(y, config.hidden_dropout_prob, context.stream_at(layer, FFN_SITE))
    y += x
    y, norm = layer_norm_forward(y, *context.tensors("ffn", layer, NORM), config.layer_norm_eps)
    return y, (up, gelu, down, coins, norm)


def ffn_part_backward(dy, cache, config):
    up, gelu, down, coins, norm = cache
    _, gelu_backward = GELU[config.gelu_form]

    dy, *dnorm = layer_norm_backward(dy, norm)
    dresidual = dy                                                  # forward: y += x
    (dy,) = dropout_backward(dy, coins)
    dy, *ddown = linear_backward(dy, down)
    (dy,) = gelu_backward(dy, gelu)
    dx, *dup = linear_backward(dy, up)
    dx += dresidual
    return dx, dup + ddown + dnorm


def block_forward(x, layer, context):
    x, attention = attention_part_forward(x, layer, context)
    x, ffn = ffn_part_forward(x, layer, context)
    return x, (attention, ffn)


def block_backward(dx, cache, layer, config, grads):
    attention, ffn = cache
    dx, dffn = ffn_part_backward(dx, ffn, config)
    add_to(grads, part_name(config, "ffn", layer), FFN + NORM, dffn)
    dx, dattention = attention_part_backward(dx, attention)
    add_to(grads, part_name(config, "attention", layer), ATTENTION + NORM, dattention)
    return dx


def encoder_states(x, context):
    """What enters each layer, and what leaves the last; nothing is kept for a backward pass."""
    yield x
    for layer in range(context.config.num_hidden_layers):
        x, _ = block_forward(x, layer, context)
        yield x


def encoder_attention(x, context):
    """What the heads of each layer look at: (B, N, T, T), layer by layer."""
    for layer in range(context.config.num_hidden_layers):
        x, ((attention, _, _), _) = block_forward(x, layer, context)
        yield attention_probs(attention)


def encoder_forward(x, context, recompute=False):
    """Keep a cache per layer, or with `recompute` only its input, from which backward makes the cache anew."""
    kept = []
    for layer in range(context.config.num_hidden_layers):
        y, cache = block_forward(x, layer, context)
        kept.append(x if recompute else cache)
        x = y
    return x, (kept, context, recompute)


def encoder_backward(dx, cache, grads):
    """Empties the cache as it goes, so that a layer's memory is free once its gradient is known."""
    kept, context, recompute = cache
    if not kept:
        raise ValueError("this cache was used up by an earlier backward pass; run forward again")
    while kept:
        block_cache = kept.pop()
        layer = len(kept)
        if recompute:
            _, block_cache = block_forward(block_cache, layer, context)
        dx = block_backward(dx, block_cache, layer, context.config, grads)
    return dx
