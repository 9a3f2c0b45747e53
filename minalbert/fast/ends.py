"""What comes before the encoder and after it, over buffers: `model.embeddings` and `model.heads` have the pairs.

    ids (B, T)  ->  tables, norm, dropout (R, E)  ->  projection (R, H)
    hidden (R, H)  ->  the K masked rows  ->  dense, GELU, norm (K, E)  ->  words' loss
    hidden (R, H)  ->  each first row  ->  dense, tanh (B, H)  ->  orders (B, 2)  ->  their loss
"""

from typing import Any, NamedTuple

from ..backend import array_module
from ..layers import cross_entropy_backward, cross_entropy_forward, tanh_backward
from ..model.embeddings import DROPOUT_SITE, TABLES


def embeddings_forward(inputs, part, x):
    """Fills x: (R, H) from the ids."""
    do, params, config = part.kernels, part.params, part.config
    y = part.rows("embedded", config.embedding_size) if config.has_projection else x
    xhat, rstd = part.rows("xhat_embeddings", config.embedding_size), part.row_numbers("rstd_embeddings")
    tables = [params[f"embeddings.{name}"] for name in TABLES]
    do.embedding_forward(inputs.input_ids, inputs.token_type_ids, *tables, out=xhat)
    gain, beta = params["embeddings.norm.gain"], params["embeddings.norm.bias"]
    do.norm_forward(xhat, gain, beta, config.layer_norm_eps, out=y, rstd=rstd)
    do.drop(y, part.coins(config.hidden_dropout_prob, site=DROPOUT_SITE))
    if config.has_projection:
        do.gemm(y, part.tensor("embeddings.projection.w"), out=x)
        do.add_bias(x, params["embeddings.projection.b"])


def embeddings_backward(d, inputs, part, grads):
    do, params, config = part.kernels, part.params, part.config
    xhat, rstd = part.rows("xhat_embeddings", config.embedding_size), part.row_numbers("rstd_embeddings")
    dy = d
    if config.has_projection:
        y, dy = part.rows("embedded", config.embedding_size), part.rows("dembedded", config.embedding_size)
        do.column_sums(d, out=grads["embeddings.projection.b"])
        do.gemm(y.T, d, out=grads["embeddings.projection.w"], add=True)
        do.gemm(d, part.tensor("embeddings.projection.w").T, out=dy)
    do.drop(dy, part.coins(config.hidden_dropout_prob, site=DROPOUT_SITE))
    gain = params["embeddings.norm.gain"]
    dgain, dbeta = grads["embeddings.norm.gain"], grads["embeddings.norm.bias"]
    do.norm_backward(dy, xhat, rstd, gain, dgain=dgain, dbias=dbeta)
    dtables = {f"d{name}": grads[f"embeddings.{name}"] for name in TABLES}
    do.embedding_backward(dy, inputs.input_ids, inputs.token_type_ids, **dtables)


class WordsBuffers(NamedTuple):
    x: Any                                           # (K, H) the masked rows
    u: Any                                           # (K, E) before bias and GELU
    xhat: Any                                        # (K, E)
    rstd: Any                                        # (K,)
    y: Any                                           # (K, E) what is compared with the word table
    lse: Any                                         # (K,)


def words_buffers(K, part):
    H, E, ws, dtype = part.config.hidden_size, part.config.embedding_size, part.workspace, part.params.dtype
    return WordsBuffers(
        x=ws("words.x", (K, H)), u=ws("words.u", (K, E)), xhat=ws("words.xhat", (K, E)),
        rstd=ws("words.rstd", (K,), dtype), y=ws("words.y", (K, E)), lse=ws("words.lse", (K,), dtype),
    )  # fmt: skip


def words_forward(hidden, inputs, part):
    """The loss of the masked words."""
    do, params, config = part.kernels, part.params, part.config
    x, u, xhat, rstd, y, lse = words_buffers(len(inputs.rows), part)
    losses = part.workspace("words.losses", lse.shape, lse.dtype)
    do.take(hidden, inputs.rows, out=x)
    do.gemm(x, part.tensor("mlm.dense.w"), out=u)
    do.gelu_forward(u, params["mlm.dense.b"], config.gelu_form, out=xhat)
    gain, beta = params["mlm.norm.gain"], params["mlm.norm.bias"]
    do.norm_forward(xhat, gain, beta, config.layer_norm_eps, out=y, rstd=rstd)
    table = params["embeddings.word"]
    do.cross_entropy_forward(y, table, params["mlm.bias"], inputs.labels, lse=lse, losses=losses)
    return (losses * inputs.shares).sum()


def words_backward(d, inputs, part, grads, scale):
    """Adds to d: (R, H)."""
    do, params, config = part.kernels, part.params, part.config
    x, u, xhat, rstd, y, lse = words_buffers(len(inputs.rows), part)
    dy, dx = part.workspace("words.dy", y.shape), part.workspace("words.dx", x.shape)
    shares = inputs.shares if scale == 1.0 else inputs.shares * scale
    table, dtable, dbias = params["embeddings.word"], grads["embeddings.word"], grads["mlm.bias"]
    bias = params["mlm.bias"]
    do.cross_entropy_backward(y, table, bias, inputs.labels, shares, lse, dx=dy, dtable=dtable, dbias=dbias)
    dgain, dbeta = grads["mlm.norm.gain"], grads["mlm.norm.bias"]
    do.norm_backward(dy, xhat, rstd, params["mlm.norm.gain"], dgain=dgain, dbias=dbeta)
    do.gelu_backward(dy, u, params["mlm.dense.b"], config.gelu_form, dbias=grads["mlm.dense.b"])
    do.gemm(x.T, dy, out=grads["mlm.dense.w"], add=True)
    do.gemm(dy, part.tensor("mlm.dense.w").T, out=dx)
    do.add_rows(dx, inputs.rows, out=d)


def order_forward(hidden, inputs, part):
    """The loss of the sentences' order, and what backward needs. So few rows that nothing is rounded for them."""
    do, params, ws, dtype = part.kernels, part.params, part.workspace, part.params.dtype
    (B,), H = inputs.first_rows.shape, part.config.hidden_size
    first, pooled = ws("order.first", (B, H), dtype), ws("order.pooled", (B, H), dtype)
    logits = ws("order.logits", (B, 2), dtype)
    do.take(hidden, inputs.first_rows, out=first)
    do.gemm(first, params["pooler.w"], out=pooled)
    do.add_bias(pooled, params["pooler.b"])
    array_module(pooled).tanh(pooled, out=pooled)
    do.gemm(pooled, params["sop.w"], out=logits)
    do.add_bias(logits, params["sop.b"])
    loss, cross_entropy = cross_entropy_forward(logits, inputs.orders, inputs.order_shares, total=1.0)
    return loss, (first, pooled, cross_entropy)


def order_backward(d, cache, inputs, part, grads, scale):
    """Adds to d: (R, H)."""
    do, params = part.kernels, part.params
    first, pooled, cross_entropy = cache
    dpooled = part.workspace("order.dpooled", pooled.shape, pooled.dtype)
    dlogits, _, _ = cross_entropy_backward(scale, cross_entropy)
    do.column_sums(dlogits, out=grads["sop.b"])
    do.gemm(pooled.T, dlogits, out=grads["sop.w"], add=True)
    do.gemm(dlogits, params["sop.w"].T, out=dpooled)
    (dpooled,) = tanh_backward(dpooled, (pooled,))
    do.column_sums(dpooled, out=grads["pooler.b"])
    do.gemm(first.T, dpooled, out=grads["pooler.w"], add=True)
    do.gemm(dpooled, params["pooler.w"].T, out=pooled)   # pooled has been read: it becomes dfirst
    do.add_rows(pooled, inputs.first_rows, out=d)
