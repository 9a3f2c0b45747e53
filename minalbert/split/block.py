"""`model/block.py` for a rank that has some of the heads and some of the FFN's inner numbers.

    y = norm(x + Σ_k attention_k(x))                 attention_half: rank k has N/R heads
    y = norm(x + Σ_k down_k(gelu(up_k(x))))          ffn_half: rank k has F/R of the inner numbers

Each sum over the ranks is one exchange. Going backward there is one where x entered the sublayer: each rank knows what
reaches x through its own share. The residual's path is not split, so it is added after the sum.

    x: (B, T, H)   y: (B, Q, H)
"""

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
from ..model.block import (
    ATTENTION_SITE,
    FFN_SITE,
    PROBS_SITE,
    AttentionHalfCache,
    FfnHalfCache,
    activation,
    sparse_pair,
)
from ..model.gradients import add_to
from ..params import ATTENTION, FFN, NORM, half_name


def attention_half_forward(x, layer, ctx, positions=None, *, exchange):
    config = ctx.config
    residual, gather = gather_forward(x, positions)
    *inner, b_output = ctx.weights("attention", layer, ATTENTION)
    key = ctx.key_at(layer=layer, site=PROBS_SITE, share=exchange.rank, shares=exchange.size)
    y, attention = multi_head_forward(
        x, *inner, exchange.once(b_output), ctx.mask, config.num_attention_heads // exchange.size,
        config.attention_probs_dropout_prob, key, positions, sparse_pair(config),
    )  # fmt: skip
    y = exchange.add(y)
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=ATTENTION_SITE))
    y += residual
    y, norm = layer_norm_forward(y, *ctx.weights("attention", layer, NORM), config.layer_norm_eps)
    return y, AttentionHalfCache(layer, gather, attention, dropout, norm)


def attention_half_backward(dy, cache, ctx, grads, *, exchange):
    dy, *dnorm = layer_norm_backward(dy, cache.norm)
    dresidual = dy                                                  # forward: y += residual
    (dy,) = dropout_backward(dy, cache.dropout)
    dx, *dattention, _ = multi_head_backward(dy, cache.attention)
    dx = exchange.add(dx)                                           # forward: every rank read x
    dx += gather_backward(dresidual, cache.gather)[0]
    add_to(grads, half_name(ctx.config, "attention", cache.layer), ATTENTION + NORM, dattention + dnorm)
    return dx


def ffn_half_forward(x, layer, ctx, *, exchange):
    config = ctx.config
    act_forward, _ = activation(config)
    w_up, b_up, w_down, b_down = ctx.weights("ffn", layer, FFN)
    y, up = linear_forward(x, w_up, b_up)                           # (B, T, F/R)
    y, gelu = act_forward(y)
    y, down = linear_forward(y, w_down, exchange.once(b_down))      # (B, T, H)
    y = exchange.add(y)
    y, dropout = dropout_forward(y, config.hidden_dropout_prob, ctx.key_at(layer=layer, site=FFN_SITE))
    y += x
    y, norm = layer_norm_forward(y, *ctx.weights("ffn", layer, NORM), config.layer_norm_eps)
    return y, FfnHalfCache(layer, up, gelu, down, dropout, norm)


def ffn_half_backward(dy, cache, ctx, grads, *, exchange):
    _, act_backward = activation(ctx.config)

    dy, *dnorm = layer_norm_backward(dy, cache.norm)
    dresidual = dy                                                  # forward: y += x
    (dy,) = dropout_backward(dy, cache.dropout)
    dy, *ddown = linear_backward(dy, cache.down)
    (dy,) = act_backward(dy, cache.gelu)
    dx, *dup = linear_backward(dy, cache.up)
    dx = exchange.add(dx)                                           # forward: every rank read x
    dx += dresidual
    add_to(grads, half_name(ctx.config, "ffn", cache.layer), FFN + NORM, dup + ddown + dnorm)
    return dx
