"""The two losses over an arena; `model.heads` has the plain pairs.

    MLM   the K rows of hidden with a target  ->  dense, GELU, norm (K, E)  ->  the loss over V words, some at a time
    SOP   the first row of each example  ->  dense, tanh (B, H)  ->  orders (B, 2)  ->  their loss

    hidden: (B, 1 + P, H), [CLS] and the masked positions, as B·(1 + P) rows
"""

from typing import Any, NamedTuple

from ..backend import array_module, device_of
from ..layers import cross_entropy_backward, cross_entropy_forward, tanh_backward


class MlmArrays(NamedTuple):
    rows: Any                                        # (K,) those with a target, among hidden's
    labels: Any                                      # (K,) the words that stood there
    shares: Any                                      # (K,) weight over the sum of weights
    x: Any                                           # (K, H) the masked rows
    u: Any                                           # (K, E) before bias and GELU
    xhat: Any                                        # (K, E)
    rstd: Any                                        # (K,)
    y: Any                                           # (K, E) what is compared with the word table
    lse: Any                                         # (K,)


def mlm_loss_forward(hidden, batch, total, ctx):
    do, params, config = ctx.kernels, ctx.params, ctx.config
    rows, labels, shares = targets(batch, total, ctx)
    K, E, H = len(rows), config.embedding_size, config.hidden_size
    x, u, xhat, y = (ctx.kept(f"mlm.{name}", (K, H if name == "x" else E)) for name in ("x", "u", "xhat", "y"))
    rstd, lse = (ctx.kept(f"mlm.{name}", (K,), params.dtype) for name in ("rstd", "lse"))
    mark = ctx.scratch.mark()
    losses = ctx.temporary("mlm.losses", (K,), params.dtype)
    do.take(hidden.reshape(-1, H), rows, out=x)
    do.gemm(x, ctx.tensor("mlm.dense.w"), out=u)
    do.gelu_forward(u, params["mlm.dense.b"], config.gelu_form, out=xhat)
    gain, bias = params["mlm.norm.gain"], params["mlm.norm.bias"]
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, out=y, rstd=rstd)
    do.cross_entropy_forward(y, params["embeddings.word"], params["mlm.bias"], labels, lse=lse, losses=losses)
    loss = (losses * shares).sum()
    ctx.scratch.release(mark)
    return loss, MlmArrays(rows, labels, shares, x, u, xhat, rstd, y, lse)


def mlm_loss_backward(dloss, cache, ctx, grads, dhidden):
    do, params, config = ctx.kernels, ctx.params, ctx.config
    x, y, mark = cache.x, cache.y, ctx.scratch.mark()
    dy, dx = ctx.temporary("mlm.dy", y.shape), ctx.temporary("mlm.dx", x.shape)
    shares = cache.shares if dloss == 1.0 else cache.shares * dloss
    do.cross_entropy_backward(y, params["embeddings.word"], params["mlm.bias"], cache.labels, shares, cache.lse,
                              dx=dy, dtable=grads["embeddings.word"], dbias=grads["mlm.bias"])  # fmt: skip
    dgain, dbias = grads["mlm.norm.gain"], grads["mlm.norm.bias"]
    do.norm_backward(dy, cache.xhat, cache.rstd, params["mlm.norm.gain"], dgain=dgain, dbias=dbias)
    do.gelu_backward(dy, cache.u, params["mlm.dense.b"], config.gelu_form, dbias=grads["mlm.dense.b"])
    do.gemm(x.T, dy, out=grads["mlm.dense.w"], add=True)
    do.gemm(dy, ctx.tensor("mlm.dense.w").T, out=dx)
    do.add_rows(dx, cache.rows, out=dhidden.reshape(-1, config.hidden_size))
    ctx.scratch.release(mark)


class SopArrays(NamedTuple):
    rows: Any                                        # (B,) of each example's first token, among hidden's
    first: Any                                       # (B, H)
    pooled: Any                                      # (B, H)
    cross_entropy: Any


def sop_loss_forward(hidden, batch, total, ctx):
    """So few rows that nothing is rounded for them."""
    do, params, dtype, xp = ctx.kernels, ctx.params, ctx.params.dtype, array_module(hidden)
    B, width, H = hidden.shape
    first, pooled = ctx.kept("sop.first", (B, H), dtype), ctx.kept("sop.pooled", (B, H), dtype)
    logits, rows = ctx.kept("sop.logits", (B, 2), dtype), xp.arange(0, B * width, width)
    do.take(hidden.reshape(B * width, H), rows, out=first)
    do.gemm(first, params["pooler.w"], out=pooled)
    do.add_bias(pooled, params["pooler.b"])
    xp.tanh(pooled, out=pooled)
    do.gemm(pooled, params["sop.w"], out=logits)
    do.add_bias(logits, params["sop.b"])
    loss, cross_entropy = cross_entropy_forward(logits, ctx.integers(batch.sop_labels), xp.ones(B, dtype), total)
    return loss, SopArrays(rows, first, pooled, cross_entropy)


def sop_loss_backward(dloss, cache, ctx, grads, dhidden):
    do, params = ctx.kernels, ctx.params
    first, pooled, mark = cache.first, cache.pooled, ctx.scratch.mark()
    dpooled, dfirst = (ctx.temporary(f"sop.{name}", first.shape, first.dtype) for name in ("dpooled", "dfirst"))
    dlogits, _, _ = cross_entropy_backward(dloss, cache.cross_entropy)
    do.column_sums(dlogits, out=grads["sop.b"])
    do.gemm(pooled.T, dlogits, out=grads["sop.w"], add=True)
    do.gemm(dlogits, params["sop.w"].T, out=dpooled)
    (dpooled,) = tanh_backward(dpooled, (pooled,))
    do.column_sums(dpooled, out=grads["pooler.b"])
    do.gemm(first.T, dpooled, out=grads["pooler.w"], add=True)
    do.gemm(dpooled, params["pooler.w"].T, out=dfirst)
    do.add_rows(dfirst, cache.rows, out=dhidden.reshape(-1, first.shape[1]))
    ctx.scratch.release(mark)


def targets(batch, total, ctx):
    """rows, labels and shares of the predictions: on the CPU of those alone whose weight is not 0.

    On a GPU of every slot, because their number must not change from step to step (a CUDA graph).
    """
    weights = batch.mlm_weights
    xp, (B, P) = array_module(weights), weights.shape
    total = weights.sum(dtype=xp.float64) if total is None else xp.asarray(total)
    shares = (weights / xp.where(total == 0, 1.0, total)).astype(ctx.params.dtype).ravel()
    rows = xp.arange(B * (1 + P)).reshape(B, 1 + P)[:, 1:].ravel()       # without [CLS]
    found = rows, ctx.integers(batch.mlm_labels.ravel()), shares
    if device_of(weights) == "cuda":
        return found
    (used,) = weights.ravel().nonzero()
    return [array[used] for array in found]
