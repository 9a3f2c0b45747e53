"""The two halves of the block over an arena; `model.block` has the plain pairs, in the same order.

    y = norm(x + attention(x))                       attention_half
    y = norm(x + down(gelu(up(x))))                  ffn_half

What the plain halves say in a line each, a kernel does in one walk: bias, GELU; bias, dropout, residual, norm.
Backward walks with one array, d: (R, H). It is dy, becomes the gradient of the sublayer's sum, which is also that
of the residual connection, and becomes dx by the line `gemm(..., out=d, add=True)`. So dy is destroyed.

    x, y: (B, T, H)
"""

from typing import Any, NamedTuple

from ..model.block import ATTENTION_SITE, FFN_SITE, PROBS_SITE
from ..params import ATTENTION, FFN, NORM


class AttentionArrays(NamedTuple):
    layer: int
    x: Any                                           # (R, H)
    qkv: Any                                         # (R, 3H)
    lse: Any                                         # (B, N, T) log Σ exp of each row of scores
    context: Any                                     # (R, H)
    xhat: Any                                        # (R, H)
    rstd: Any                                        # (R,)


class FfnArrays(NamedTuple):
    layer: int
    x: Any                                           # (R, H)
    u: Any                                           # (R, F) before bias and GELU; backward makes it the GELU's output
    xhat: Any                                        # (R, H)
    rstd: Any                                        # (R,)


def attention_half_forward(x, layer, ctx):
    do, config = ctx.kernels, ctx.config
    shape, (B, T, H), heads = x.shape, x.shape, config.num_attention_heads
    x = x.reshape(B * T, H)
    wq, bq, wk, bk, wv, bv, wo, bo = ctx.weights("attention", layer, ATTENTION)
    gain, bias = ctx.weights("attention", layer, NORM)

    qkv = ctx.kept("qkv", (B * T, 3 * H))
    for third, w, b in zip(thirds(qkv), (wq, wk, wv), (bq, bk, bv), strict=True):
        do.gemm(x, w, out=third)
        do.add_bias(third, b)
    context, lse = ctx.kept("context", x.shape), ctx.kept("lse", (B, heads, T), ctx.params.dtype)
    dropout = ctx.dropout(config.attention_probs_dropout_prob, layer=layer, site=PROBS_SITE)
    do.attention_forward(qkv, ctx.mask, heads, dropout, context=context, lse=lse)
    xhat, rstd = ctx.kept("attention.xhat", x.shape), ctx.kept("attention.rstd", (B * T,), ctx.params.dtype)
    y = ctx.kept("attention.y", x.shape)
    do.gemm(context, wo, out=xhat)
    dropout = ctx.dropout(config.hidden_dropout_prob, layer=layer, site=ATTENTION_SITE)
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, linear_bias=bo, residual=x, dropout=dropout,
                    out=y, rstd=rstd)  # fmt: skip
    return y.reshape(shape), AttentionArrays(layer, x, qkv, lse, context, xhat, rstd)


def attention_half_backward(dy, cache, ctx, grads):
    do, config = ctx.kernels, ctx.config
    layer, x, context = cache.layer, cache.x, cache.context
    wq, _, wk, _, wv, _, wo, _ = ctx.weights("attention", layer, ATTENTION)
    gain, _ = ctx.weights("attention", layer, NORM)
    dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo = ctx.gradients(grads, "attention", layer, ATTENTION)
    dgain, dbias = ctx.gradients(grads, "attention", layer, NORM)

    mark, d = ctx.scratch.mark(), dy.reshape(x.shape)
    dropout = ctx.dropout(config.hidden_dropout_prob, layer=layer, site=ATTENTION_SITE)
    dh = d if dropout is None else ctx.temporary("dh", d.shape)
    do.norm_backward(d, cache.xhat, cache.rstd, gain, dropout=dropout,
                     dgain=dgain, dbias=dbias, dlinear_bias=dbo, dh=dh)  # fmt: skip
    dcontext, dqkv = ctx.temporary("dcontext", d.shape), ctx.temporary("dqkv", cache.qkv.shape)
    do.gemm(context.T, dh, out=dwo, add=True)
    do.gemm(dh, wo.T, out=dcontext)
    dropout = ctx.dropout(config.attention_probs_dropout_prob, layer=layer, site=PROBS_SITE)
    do.attention_backward(dcontext, cache.qkv, ctx.mask, config.num_attention_heads, dropout, context, cache.lse,
                          dqkv=dqkv)  # fmt: skip
    for third, w, dw, db in zip(thirds(dqkv), (wq, wk, wv), (dwq, dwk, dwv), (dbq, dbk, dbv), strict=True):
        do.column_sums(third, out=db)
        do.gemm(x.T, third, out=dw, add=True)
        do.gemm(third, w.T, out=d, add=True)
    ctx.scratch.release(mark)
    return dy


def ffn_half_forward(x, layer, ctx):
    do, config, shape = ctx.kernels, ctx.config, x.shape
    R, F = x.shape[0] * x.shape[1], config.intermediate_size
    x = x.reshape(R, -1)
    w_up, b_up, w_down, b_down = ctx.weights("ffn", layer, FFN)
    gain, bias = ctx.weights("ffn", layer, NORM)

    mark, u = ctx.scratch.mark(), ctx.kept("u", (R, F))
    g = ctx.temporary("gelu(u)", u.shape)
    do.gemm(x, w_up, out=u)
    do.gelu_forward(u, b_up, config.gelu_form, out=g)
    xhat, rstd = ctx.kept("ffn.xhat", x.shape), ctx.kept("ffn.rstd", (R,), ctx.params.dtype)
    y = ctx.kept("ffn.y", x.shape)
    do.gemm(g, w_down, out=xhat)
    dropout = ctx.dropout(config.hidden_dropout_prob, layer=layer, site=FFN_SITE)
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, linear_bias=b_down, residual=x, dropout=dropout,
                    out=y, rstd=rstd)  # fmt: skip
    ctx.scratch.release(mark)
    return y.reshape(shape), FfnArrays(layer, x, u, xhat, rstd)


def ffn_half_backward(dy, cache, ctx, grads):
    do, config = ctx.kernels, ctx.config
    layer, x, u = cache.layer, cache.x, cache.u
    w_up, b_up, w_down, _ = ctx.weights("ffn", layer, FFN)
    gain, _ = ctx.weights("ffn", layer, NORM)
    dw_up, db_up, dw_down, db_down = ctx.gradients(grads, "ffn", layer, FFN)
    dgain, dbias = ctx.gradients(grads, "ffn", layer, NORM)

    mark, d = ctx.scratch.mark(), dy.reshape(x.shape)
    dropout = ctx.dropout(config.hidden_dropout_prob, layer=layer, site=FFN_SITE)
    dh = d if dropout is None else ctx.temporary("dh", d.shape)
    do.norm_backward(d, cache.xhat, cache.rstd, gain, dropout=dropout,
                     dgain=dgain, dbias=dbias, dlinear_bias=db_down, dh=dh)  # fmt: skip
    du = ctx.temporary("du", u.shape)
    do.gemm(dh, w_down.T, out=du)
    do.gelu_backward(du, u, b_up, config.gelu_form, dbias=db_up)
    do.gemm(u.T, dh, out=dw_down, add=True)          # u has become gelu(u)
    do.gemm(x.T, du, out=dw_up, add=True)
    do.gemm(du, w_up.T, out=d, add=True)
    ctx.scratch.release(mark)
    return dy


def thirds(qkv):
    """q, k and v: three views (R, H) of (R, 3H)."""
    H = qkv.shape[1] // 3
    return [qkv[:, i * H : (i + 1) * H] for i in range(3)]
