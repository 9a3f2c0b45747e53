"""Sparse attention with softmax and its gradient a number at a time; `cpu.sparse_attention` has the tiles and shapes."""

import functools

import numpy as np

from ..cpu.sparse_attention import backward_by_tiles, forward_by_tiles
from .attention import softmax_backward, softmax_forward
from .loops import ONE


def attend_forward(q, k, v, mask, hidden, dropped, *, context, lse):
    probs = k @ q.swapaxes(-1, -2)                   # (b, n, keys, queries)
    probs += hidden
    softmax_forward(probs, mask, ONE, lse)
    if dropped is not None:
        probs *= dropped
    np.matmul(probs.swapaxes(-1, -2), v, out=context)


def attend_backward(dcontext, q, k, v, mask, hidden, dropped, context, lse, *, dq, dk, dv):
    probs = k @ q.swapaxes(-1, -2)
    probs += hidden
    dprobs = v @ dcontext.swapaxes(-1, -2)
    if dropped is not None:
        dprobs *= dropped
    softmax_backward(probs, dprobs, mask, ONE, lse, np.vecdot(dcontext, context))
    if dropped is not None:
        probs *= dropped
    np.matmul(probs, dcontext, out=dv)
    np.matmul(dprobs, q, out=dk)                     # dprobs are dscores by now
    np.matmul(dprobs.swapaxes(-1, -2), k, out=dq)


sparse_attention_forward = functools.partial(forward_by_tiles, attend_forward)
sparse_attention_backward = functools.partial(backward_by_tiles, attend_backward)
