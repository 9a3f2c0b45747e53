"""Masked multi-head self-attention (Vaswani et al., 2017, §3.2).

Each head compares every token with every other and takes a weighted mean of their values:

    scores = q kᵀ / √D + mask          probs = softmax(scores)          context = dropout(probs) v

Backward is the same walk from the end, with softmax's and dropout's own rules on the way:

    dv = dropout(probs)ᵀ dcontext          dprobs = dcontext vᵀ, the dropped ones zero
    dscores = probs (dprobs - Σ_j dprobs_j probs_j)
    dq = dscores k / √D                    dk = dscoresᵀ q / √D

k, v: (B, N, T, D)   q, context: (B, N, Q, D)   scores, probs: (B, N, Q, T)   mask: (B, 1, 1, T), a constant
cache: q, k, v, probs, and dropout's mask

Q is T, but for the last layer: no loss reads all of its output, and so fewer tokens need a query there.

The mask is 0, and at padding the `lowest` number: no score is large enough to make up for it, so padding has no
weight, whatever the weights of the model. A sequence that is all padding is read as if none of it were, because
`lowest` would eat up the digits of all scores. Adding a constant to a row of scores changes nothing, which has a
consequence that surprises everyone once: the gradient of the key bias is exactly zero.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..backend import array_module, lowest
from .dropout import dropout_backward, dropout_forward
from .gather import gather_backward, gather_forward
from .linear import linear_backward, linear_forward
from .softmax import softmax, softmax_backward


class AttentionCache(NamedTuple):
    q: Any
    k: Any
    v: Any
    probs: Any                                       # before dropout
    dropout: Any


class MultiHeadCache(NamedTuple):
    query_rows: Any                                  # gather's cache
    q: Any                                           # linear's cache, and so are the next two
    k: Any
    v: Any
    attention: Any                                   # the cache of the pair that computed it
    attend_backward: Callable                        # of this pair
    context_rows: Any                                # gather's cache
    output: Any                                      # linear's cache
    heads: int


def key_mask(attention_mask, dtype):
    """(B, T) of ones and zeros -> (B, 1, 1, T) of 0 and `lowest`, to be added to the scores."""
    padding = attention_mask[:, None, None, :] == 0
    padding &= ~padding.all(axis=-1, keepdims=True)
    return array_module(padding).where(padding, lowest(dtype), 0.0).astype(dtype)


def attention_forward(q, k, v, mask, rate=0.0, key=None):
    scores = q @ k.swapaxes(-1, -2)                  # (B, N, Q, T)
    scores *= 1 / math.sqrt(q.shape[-1])
    scores += mask
    probs = softmax(scores)
    kept, dropout = dropout_forward(probs, rate, key)
    context = kept @ v                               # (B, N, Q, D)
    return context, AttentionCache(q, k, v, probs, dropout)


def attention_backward(dcontext, cache):
    q, k, v, probs, dropout = cache

    (kept,) = dropout_backward(probs, dropout)       # the same product as forward: times mask, times scale
    dv = kept.swapaxes(-1, -2) @ dcontext            # forward: context = kept v
    dkept = dcontext @ v.swapaxes(-1, -2)
    (dprobs,) = dropout_backward(dkept, dropout)
    (dscores,) = softmax_backward(dprobs, (probs,))  # forward: probs = softmax(scores)
    dscores *= 1 / math.sqrt(q.shape[-1])            # forward: scores *= 1 / √D
    dq = dscores @ k                                 # forward: scores = q kᵀ
    dk = dscores.swapaxes(-1, -2) @ q
    return dq, dk, dv, None


def split_heads(x, heads):
    """(B, T, H) -> (B, N, T, D), a view: head n is columns nD to (n+1)D of H."""
    B, T, H = x.shape
    return x.reshape(B, T, heads, H // heads).swapaxes(1, 2)


def merge_heads(x):
    """(B, N, T, D) -> (B, T, H), the way back."""
    B, N, T, D = x.shape
    return x.swapaxes(1, 2).reshape(B, T, N * D)


def multi_head_forward(x, wq, bq, wk, bk, wv, bv, wo, bo, mask, heads, rate=0.0, key=None, positions=None, sparse=None):
    """x: (B, T, H)   w*: (H, H)   b*: (H,)   y: (B, Q, H), at `positions` (B, Q) or, without, at all

    sparse: a pair in the place of attention's own; its tiles are of all queries, so contexts are taken after it
    """
    attend, attend_backward = sparse or (attention_forward, attention_backward)
    xq, query_rows = gather_forward(x, None if sparse else positions)
    q, q_cache = linear_forward(xq, wq, bq)
    k, k_cache = linear_forward(x, wk, bk)
    v, v_cache = linear_forward(x, wv, bv)
    q, k, v = (split_heads(x, heads) for x in (q, k, v))
    context, attention = attend(q, k, v, mask, rate, key)
    context, context_rows = gather_forward(merge_heads(context), positions if sparse else None)
    y, output = linear_forward(context, wo, bo)
    return y, MultiHeadCache(
        query_rows, q_cache, k_cache, v_cache, attention, attend_backward, context_rows, output, heads
    )


def attention_probs(cache):
    """multi_head's cache -> probs (B, N, Q, T), before dropout: at [b, n, i, j] how much token i takes of token j."""
    return cache.attention.probs


def multi_head_backward(dy, cache):
    dcontext, dwo, dbo = linear_backward(dy, cache.output)
    dcontext, _ = gather_backward(dcontext, cache.context_rows)
    dq, dk, dv, _ = cache.attend_backward(split_heads(dcontext, cache.heads), cache.attention)
    dx_v, dwv, dbv = linear_backward(merge_heads(dv), cache.v)
    dx_k, dwk, dbk = linear_backward(merge_heads(dk), cache.k)
    dxq, dwq, dbq = linear_backward(merge_heads(dq), cache.q)
    dx, _ = gather_backward(dxq, cache.query_rows)   # x was read three times
    dx += dx_k
    dx += dx_v
    return dx, dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo, None
