"""From token ids to the encoder's input: three tables of width E, a norm, and the step from E to H.

A table of V×H would cost 23 million numbers in ALBERT-base; V×E + E×H costs 3.9 million, because what a word
means by itself needs fewer dimensions than what it means in context (paper, §3.1).

    input_ids, token_type_ids: (B, T)   ->   x: (B, T, H)
"""

from ..layers import (
    dropout_backward,
    dropout_forward,
    embedding_backward,
    embedding_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
)
from ..params import LINEAR, NORM
from .gradients import add_to

TABLES = ("word", "position", "token_type")
DROPOUT_SITE = 0


def embeddings_forward(input_ids, token_type_ids, ctx):
    params, config = ctx.params, ctx.config
    tables = [params[f"embeddings.{name}"] for name in TABLES]
    x, lookup = embedding_forward(input_ids, token_type_ids, *tables)                   # (B, T, E)
    gain, bias = params["embeddings.norm.gain"], params["embeddings.norm.bias"]
    x, norm = layer_norm_forward(x, gain, bias, config.layer_norm_eps)
    x, dropout = dropout_forward(x, config.hidden_dropout_prob, ctx.key_at(site=DROPOUT_SITE))
    projection = None
    if config.has_projection:
        w, b = params["embeddings.projection.w"], params["embeddings.projection.b"]
        x, projection = linear_forward(x, w, b)                                         # (B, T, H)
    return x, (lookup, norm, dropout, projection)


def embeddings_backward(dx, cache, ctx, grads):
    lookup, norm, dropout, projection = cache

    if projection is not None:
        dx, *dprojection = linear_backward(dx, projection)
        add_to(grads, "embeddings.projection", LINEAR, dprojection)
    (dx,) = dropout_backward(dx, dropout)
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "embeddings", NORM, dnorm)
    _, _, *dtables = embedding_backward(dx, lookup)
    add_to(grads, "embeddings", TABLES, dtables)
