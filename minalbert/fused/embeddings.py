"""The embeddings over an arena; `model.embeddings` has the plain pair.

    ids (B, T)  ->  tables, norm, dropout (R, E)  ->  projection  ->  x (B, T, H)
"""

from typing import Any, NamedTuple

from ..model.embeddings import DROPOUT_SITE, TABLES


class EmbeddingsArrays(NamedTuple):
    ids: Any                                         # (B, T)
    types: Any                                       # (B, T)
    xhat: Any                                        # (R, E)
    rstd: Any                                        # (R,)
    y: Any                                           # (R, E) what is projected


def embeddings_forward(input_ids, token_type_ids, ctx):
    do, params, config = ctx.kernels, ctx.params, ctx.config
    (B, T), E, H = input_ids.shape, config.embedding_size, config.hidden_size
    ids, types = ctx.integers(input_ids), ctx.integers(token_type_ids)
    xhat, rstd = ctx.kept("embeddings.xhat", (B * T, E)), ctx.kept("embeddings.rstd", (B * T,), params.dtype)
    x = y = ctx.kept("embeddings.y", (B * T, E))
    do.embedding_forward(ids, types, *(params[f"embeddings.{name}"] for name in TABLES), out=xhat)
    gain, bias = params["embeddings.norm.gain"], params["embeddings.norm.bias"]
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, out=y, rstd=rstd)
    do.drop(y, ctx.dropout(config.hidden_dropout_prob, T, site=DROPOUT_SITE))
    if config.has_projection:
        x = ctx.kept("x", (B * T, H))
        do.gemm(y, ctx.tensor("embeddings.projection.w"), out=x)
        do.add_bias(x, params["embeddings.projection.b"])
    return x.reshape(B, T, H), EmbeddingsArrays(ids, types, xhat, rstd, y)


def embeddings_backward(dx, cache, ctx, grads):
    """Destroys dx."""
    do, params, config = ctx.kernels, ctx.params, ctx.config
    y, mark = cache.y, ctx.scratch.mark()
    dy = dx = dx.reshape(len(y), -1)
    if config.has_projection:
        dy = ctx.temporary("embeddings.dy", y.shape)
        do.column_sums(dx, out=grads["embeddings.projection.b"])
        do.gemm(y.T, dx, out=grads["embeddings.projection.w"], add=True)
        do.gemm(dx, ctx.tensor("embeddings.projection.w").T, out=dy)
    do.drop(dy, ctx.dropout(config.hidden_dropout_prob, cache.ids.shape[1], site=DROPOUT_SITE))
    dgain, dbias = grads["embeddings.norm.gain"], grads["embeddings.norm.bias"]
    do.norm_backward(dy, cache.xhat, cache.rstd, params["embeddings.norm.gain"], dgain=dgain, dbias=dbias)
    dtables = {f"d{name}": grads[f"embeddings.{name}"] for name in TABLES}
    do.embedding_backward(dy, cache.ids, cache.types, **dtables)
    ctx.scratch.release(mark)
