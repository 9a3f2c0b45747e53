"""The kernels of `cpu`, or of `cpu_bf16`, whose elementwise chains are loops of `compiled`: for float32.

Names, arguments and results are their NumPy twins', up to rounding. Matrix products and coins are the twins' own;
so are the erf form of GELU and whatever is one operation anyway.
"""

import functools
import math
from types import SimpleNamespace

import numpy as np

from . import compiled, gelu
from .attention import by_head, drawn, groups
from .compiled import embed_backward, embed_forward
from .cross_entropy import label_places, vocabulary
from .gemm import gemm
from .tiles import tiles


@functools.cache
def over(kernels):
    """`cpu` or `cpu_bf16`, with what is compiled in the place of what is not."""
    return SimpleNamespace(**(vars(kernels) | COMPILED))


def gelu_forward(u, bias, y, form):
    if form == "tanh":
        compiled.gelu_forward(u, bias, y)
    else:
        gelu.gelu_forward(u, bias, y, form)


def gelu_backward(dy, u, bias, dbias, form):
    if form == "tanh":
        compiled.gelu_backward(dy, u, bias, dbias)
    else:
        gelu.gelu_backward(dy, u, bias, dbias, form)


def norm_forward(h, bias, residual, coins, gain, beta, eps, y, rstd):
    if coins is None:
        compiled.norm_forward(h, bias, None, residual, gain, beta, eps, y, rstd)
        return
    for rows in tiles(h, coins.length):
        factors = _row_factors(h[rows], coins, rows.start)
        straight = None if residual is None else residual[rows]
        compiled.norm_forward(h[rows], bias, factors, straight, gain, beta, eps, y[rows], rstd[rows])


def norm_backward(dy, xhat, rstd, gain, coins, dgain, dbeta, dbias, dh):
    if coins is None:
        compiled.norm_backward(dy, xhat, rstd, gain, None, dgain, dbeta, dbias, None)
        return
    for rows in tiles(dy, coins.length):
        factors = _row_factors(dy[rows], coins, rows.start)
        compiled.norm_backward(dy[rows], xhat[rows], rstd[rows], gain, factors, dgain, dbeta, dbias, dh[rows])


def _row_factors(x, coins, start):
    examples = x.reshape(-1, coins.length, x.shape[1])
    return coins.factors(examples, start // coins.length).reshape(x.shape)


def attention_forward(qkv, mask, heads, coins, context, lse):
    q, k, v = by_head(qkv, 3, heads, mask.shape)
    (context,) = by_head(context, 1, heads, mask.shape)
    factors_of = drawn(coins, lse)
    for part in groups(lse):
        probs = k[part] @ q[part].swapaxes(-1, -2)   # (b, n, keys, queries)
        compiled.softmax_forward(probs, mask[part[0]], 1 / math.sqrt(q.shape[-1]), lse[part])
        if coins is not None:
            probs *= factors_of(part)
        np.matmul(probs.swapaxes(-1, -2), v[part], out=context[part])


def attention_backward(dcontext, qkv, mask, heads, coins, context, lse, dqkv):
    q, k, v = by_head(qkv, 3, heads, mask.shape)
    dq, dk, dv = by_head(dqkv, 3, heads, mask.shape)
    (context,), (dcontext,) = (by_head(x, 1, heads, mask.shape) for x in (context, dcontext))
    factors_of = drawn(coins, lse)
    for part in groups(lse):
        probs = k[part] @ q[part].swapaxes(-1, -2)
        dprobs = v[part] @ dcontext[part].swapaxes(-1, -2)
        factors = None if coins is None else factors_of(part)
        if coins is not None:
            dprobs *= factors
        inner = np.vecdot(dcontext[part], context[part])
        compiled.softmax_backward(probs, dprobs, mask[part[0]], 1 / math.sqrt(q.shape[-1]), lse[part], inner)
        if coins is not None:
            probs *= factors
        np.matmul(probs, dcontext[part], out=dv[part])
        np.matmul(dprobs, q[part], out=dk[part])     # dprobs are dscores by now
        np.matmul(dprobs.swapaxes(-1, -2), k[part], out=dq[part])


def cross_entropy_forward(x, table, bias, labels, lse, losses):
    top, total = np.full_like(lse, -np.inf), np.zeros_like(lse)
    for words in vocabulary(x, table):
        logits = table[words] @ x.T
        compiled.words_forward(logits, bias[words], top, total)
        places = label_places(labels, words)
        losses[places[1]] = -logits[places]
    np.log(total, out=lse)
    lse += top
    losses += lse


def cross_entropy_backward(x, table, bias, labels, shares, lse, dx, dtable, dbias):
    dx.fill(0)
    for words in vocabulary(x, table):
        dlogits = table[words] @ x.T
        compiled.words_backward(dlogits, bias[words], lse, shares, dbias[words])
        word, k = label_places(labels, words)
        dlogits[word, k] -= shares[k]                # p - onehot
        np.subtract.at(dbias, words.start + word, shares[k])
        gemm(dlogits.T, table[words], dx, add=True)
        gemm(dlogits, x, dtable[words], add=True)


COMPILED = {
    kernel.__name__: kernel
    for kernel in (
        gelu_forward, gelu_backward, norm_forward, norm_backward, attention_forward, attention_backward,
        cross_entropy_forward, cross_entropy_backward, embed_forward, embed_backward,
    )
}  # fmt: skip
