"""`model/embeddings.py` for a rank that has some rows of the word table.

It looks up the words that it has. For all others it takes a row of zeros, so that the sum over ranks is the word; the
tables of positions and segments are in the sum once. What is exchanged is E wide, not H.

    input_ids, token_type_ids: (B, T)   ->   x: (B, T, H)
"""

from ..backend import array_module
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
from ..model.embeddings import DROPOUT_SITE, TABLES
from ..model.gradients import add_to
from ..params import LINEAR, NORM


def embeddings_forward(input_ids, token_type_ids, ctx, exchange):
    params, config = ctx.params, ctx.config
    own_ids, words = own_words(input_ids, params["embeddings.word"], exchange.share(config.vocab_size).start)
    others = [exchange.once(params[f"embeddings.{name}"]) for name in TABLES[1:]]
    x, lookup = embedding_forward(own_ids, token_type_ids, words, *others)              # (B, T, E)
    x = exchange.add(x)
    gain, bias = params["embeddings.norm.gain"], params["embeddings.norm.bias"]
    x, norm = layer_norm_forward(x, gain, bias, config.layer_norm_eps)
    x, dropout = dropout_forward(x, config.hidden_dropout_prob, ctx.key_at(site=DROPOUT_SITE))
    projection = None
    if config.has_projection:
        w, b = params["embeddings.projection.w"], params["embeddings.projection.b"]
        x, projection = linear_forward(x, w, b)                                         # (B, T, H)
    return x, (lookup, norm, dropout, projection)


def embeddings_backward(dx, cache, ctx, grads, exchange):
    lookup, norm, dropout, projection = cache

    if projection is not None:
        dx, *dprojection = linear_backward(dx, projection)
        add_to(grads, "embeddings.projection", LINEAR, dprojection)
    (dx,) = dropout_backward(dx, dropout)
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "embeddings", NORM, dnorm)
    _, _, dwords, *dothers = embedding_backward(dx, lookup)
    add_to(grads, "embeddings", TABLES, [dwords[:-1], *dothers])


def own_words(ids, table, first):
    """Ids as rows of this rank's table, and the table with a last row of zeros, which is that of all other words."""
    xp = array_module(table)
    local = ids - first
    own = (local >= 0) & (local < len(table))
    return xp.where(own, local, len(table)), xp.pad(table, ((0, 1), (0, 0)))
