"""The two halves of the block over an arena; `model.block` has the plain pairs, in the same order.

    y = norm(x + attention(x))                       attention_half
    y = norm(x + down(gelu(up(x))))                  ffn_half

What the plain halves say in a line each, a kernel does in one walk: bias, GELU; bias, dropout, residual, norm.
Backward walks with one array, d: (R, H). It is dy, becomes the gradient of the sublayer's sum, which is also that
of the residual connection, and becomes dx by the line `gemm(..., out=d, add=True)`. So dy is destroyed.

Forward has one array as well: a half writes its output where its input was. What is kept of the input is the xhat of
the norm before it, from which backward computes it again.

    x: (B, T, H), R = B·T rows   y: (B, Q, H), at `positions` (B, Q) or, without, at all
"""

from typing import Any, NamedTuple

from ..backend import array_module
from ..model.block import ATTENTION_SITE, FFN_SITE, PROBS_SITE, pattern_of
from ..params import ATTENTION, FFN, NORM


class AttentionArrays(NamedTuple):
    layer: int
    rows: Any                                        # (B·Q,) of the queries' tokens, among the R; None: of all
    xq: Any                                          # (B·Q, H) x at these rows; None: x itself
    x: Any                                           # (R, H) or the NormOutput that it was
    q: Any                                           # (B·Q, H); without xq (R, H)
    k: Any                                           # (R, H)
    v: Any                                           # (R, H)
    lse: Any                                         # (B, N, Q), or T: log Σ exp of each row of scores
    context: Any                                     # as q
    read: Any                                        # (B·Q, H) context at these rows
    xhat: Any                                        # (B·Q, H)
    rstd: Any                                        # (B·Q,)


class FfnArrays(NamedTuple):
    layer: int
    x: Any                                           # (R, H) or the NormOutput that it was
    u: Any                                           # (R, F) before bias and GELU; backward makes it the GELU's output
    xhat: Any                                        # (R, H)
    rstd: Any                                        # (R,)


def attention_half_forward(x, layer, ctx, positions=None):
    do, config, dtype = ctx.kernels, ctx.config, ctx.params.dtype
    (B, T, H), heads, pattern = x.shape, config.num_attention_heads, pattern_of(config)
    Q, rows = (T, None) if positions is None else (positions.shape[1], row_numbers(positions, T))
    x = x.reshape(B * T, H)
    kept = ctx.to_keep(x)
    residual = taken(ctx, "xq", x, rows)
    xq = residual if pattern is None else x          # sparse attention's tiles are of all queries
    wq, bq, wk, bk, wv, bv, wo, bo = ctx.weights("attention", layer, ATTENTION)
    gain, bias = ctx.weights("attention", layer, NORM)

    q, k, v = ctx.kept("q", xq.shape), ctx.kept("k", x.shape), ctx.kept("v", x.shape)
    for y, z, w, b in ((q, xq, wq, bq), (k, x, wk, bk), (v, x, wv, bv)):
        do.gemm(z, w, out=y)
        do.add_bias(y, b)
    context, lse = ctx.kept("context", xq.shape), ctx.kept("lse", (B, heads, len(xq) // B), dtype)
    dropout = ctx.dropout(config.attention_probs_dropout_prob, len(xq) // B, layer=layer, site=PROBS_SITE)
    if pattern is None:
        do.attention_forward(q, k, v, ctx.mask, heads, dropout, context=context, lse=lse)
    else:
        do.sparse_attention_forward(q, k, v, ctx.mask, heads, dropout, pattern, context=context, lse=lse)
    read = context if pattern is None else taken(ctx, "context.read", context, rows)
    xhat, rstd = ctx.kept("attention.xhat", read.shape), ctx.kept("attention.rstd", (B * Q,), dtype)
    do.gemm(read, wo, out=xhat)
    dropout = ctx.dropout(config.hidden_dropout_prob, Q, layer=layer, site=ATTENTION_SITE)
    y = ctx.output(xhat, gain, bias)
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, linear_bias=bo, residual=residual, dropout=dropout,
                    out=y, rstd=rstd)  # fmt: skip
    xq = None if xq is x else xq
    return y.reshape(B, Q, H), AttentionArrays(layer, rows, xq, kept, q, k, v, lse, context, read, xhat, rstd)


def attention_half_backward(dy, cache, ctx, grads):
    do, config, (B, Q, H) = ctx.kernels, ctx.config, dy.shape
    layer, rows, q, k, v, context, read = (cache.layer, cache.rows, cache.q, cache.k, cache.v, cache.context,
                                           cache.read)  # fmt: skip
    wq, _, wk, _, wv, _, wo, _ = ctx.weights("attention", layer, ATTENTION)
    gain, _ = ctx.weights("attention", layer, NORM)
    dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo = ctx.gradients(grads, "attention", layer, ATTENTION)
    dgain, dbias = ctx.gradients(grads, "attention", layer, NORM)

    d = dx = dy.reshape(B * Q, H)                    # d becomes dx at these rows, but for what keys and values add
    if rows is not None:
        dx = ctx.temporary("dx", k.shape)
    mark = ctx.scratch.mark()
    dropout = ctx.dropout(config.hidden_dropout_prob, Q, layer=layer, site=ATTENTION_SITE)
    dh = d if dropout is None else ctx.temporary("dh", d.shape)
    do.norm_backward(d, cache.xhat, cache.rstd, gain, dropout=dropout,
                     dgain=dgain, dbias=dbias, dlinear_bias=dbo, dh=dh)  # fmt: skip
    dread = dcontext = ctx.temporary("dcontext", d.shape)
    dq, dk, dv = ctx.temporary("dq", q.shape), ctx.temporary("dk", k.shape), ctx.temporary("dv", v.shape)
    do.gemm(read.T, dh, out=dwo, add=True)
    do.gemm(dh, wo.T, out=dread)
    if read is not context:                          # sparse attention, some rows
        dcontext = ctx.temporary("dcontext of all", context.shape)
        scatter(do, dread, rows, out=dcontext)
    dropout = ctx.dropout(config.attention_probs_dropout_prob, len(q) // B, layer=layer, site=PROBS_SITE)
    heads, pattern = config.num_attention_heads, pattern_of(config)
    if pattern is None:
        do.attention_backward(dcontext, q, k, v, ctx.mask, heads, dropout, context, cache.lse, dq=dq, dk=dk, dv=dv)
    else:
        do.sparse_attention_backward(dcontext, q, k, v, ctx.mask, heads, dropout, pattern, context, cache.lse,
                                     dq=dq, dk=dk, dv=dv)  # fmt: skip
    x = ctx.again(cache.x, out=k)                    # k is needed no more
    xq = x if cache.xq is None else cache.xq
    for dz, z, dw, db in ((dq, xq, dwq, dbq), (dk, x, dwk, dbk), (dv, x, dwv, dbv)):
        do.column_sums(dz, out=db)
        do.gemm(z.T, dz, out=dw, add=True)
    if xq is not x:                                  # queries of some rows: dq belongs to these
        do.gemm(dq, wq.T, out=d, add=True)
    if rows is not None:
        scatter(do, d, rows, out=dx)
    if xq is x:                                      # queries of all
        do.gemm(dq, wq.T, out=dx, add=True)
    do.gemm(dk, wk.T, out=dx, add=True)
    do.gemm(dv, wv.T, out=dx, add=True)
    ctx.scratch.release(mark)
    return dx.reshape(B, -1, H)


def ffn_half_forward(x, layer, ctx):
    do, config, shape = ctx.kernels, ctx.config, x.shape
    R, T, F = x.shape[0] * x.shape[1], x.shape[1], config.intermediate_size
    x = x.reshape(R, -1)
    kept = ctx.to_keep(x)
    w_up, b_up, w_down, b_down = ctx.weights("ffn", layer, FFN)
    gain, bias = ctx.weights("ffn", layer, NORM)

    mark, u = ctx.scratch.mark(), ctx.kept("u", (R, F))
    g = ctx.temporary("gelu(u)", u.shape)
    do.gemm(x, w_up, out=u)
    do.gelu_forward(u, b_up, config.gelu_form, out=g)
    xhat, rstd = ctx.kept("ffn.xhat", x.shape), ctx.kept("ffn.rstd", (R,), ctx.params.dtype)
    do.gemm(g, w_down, out=xhat)
    dropout = ctx.dropout(config.hidden_dropout_prob, T, layer=layer, site=FFN_SITE)
    y = ctx.output(xhat, gain, bias)
    do.norm_forward(xhat, gain, bias, config.layer_norm_eps, linear_bias=b_down, residual=x, dropout=dropout,
                    out=y, rstd=rstd)  # fmt: skip
    ctx.scratch.release(mark)
    return y.reshape(shape), FfnArrays(layer, kept, u, xhat, rstd)


def ffn_half_backward(dy, cache, ctx, grads):
    do, config = ctx.kernels, ctx.config
    layer, u, xhat = cache.layer, cache.u, cache.xhat
    w_up, b_up, w_down, _ = ctx.weights("ffn", layer, FFN)
    gain, _ = ctx.weights("ffn", layer, NORM)
    dw_up, db_up, dw_down, db_down = ctx.gradients(grads, "ffn", layer, FFN)
    dgain, dbias = ctx.gradients(grads, "ffn", layer, NORM)

    mark, d = ctx.scratch.mark(), dy.reshape(xhat.shape)
    dropout = ctx.dropout(config.hidden_dropout_prob, dy.shape[1], layer=layer, site=FFN_SITE)
    dh = d if dropout is None else ctx.temporary("dh", d.shape)
    do.norm_backward(d, xhat, cache.rstd, gain, dropout=dropout,
                     dgain=dgain, dbias=dbias, dlinear_bias=db_down, dh=dh)  # fmt: skip
    du = ctx.temporary("du", u.shape)
    do.gemm(dh, w_down.T, out=du)
    do.gelu_backward(du, u, b_up, config.gelu_form, dbias=db_up)
    do.gemm(u.T, dh, out=dw_down, add=True)          # u has become gelu(u)
    x = ctx.again(cache.x, out=xhat)                 # xhat is needed no more
    do.gemm(x.T, du, out=dw_up, add=True)
    do.gemm(du, w_up.T, out=d, add=True)
    ctx.scratch.release(mark)
    return dy


def taken(ctx, label, x, rows):
    """These rows of x, kept; all, where none are named."""
    if rows is None:
        return x
    y = ctx.kept(label, (len(rows), x.shape[1]))
    ctx.kernels.take(x, rows, out=y)
    return y


def scatter(do, dy, rows, *, out):
    """The gradient of `taken`: each row is added where it was taken from, because a row may be taken twice."""
    out.fill(0)
    do.add_rows(dy, rows, out=out)


def row_numbers(positions, length):
    """positions (B, Q) of examples that are `length` rows each -> (B·Q,) among all rows."""
    firsts = length * array_module(positions).arange(len(positions))
    return (positions + firsts[:, None]).ravel()
