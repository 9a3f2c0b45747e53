"""Attention that keeps no T × T array of numbers; `layers.attention` has the formulas.

    forward     scores = q kᵀ / √D + mask       lse = log Σ_keys exp(scores)       context = dropout(probs) v
    backward    probs = exp(scores - lse), computed again from q and k; then dv, dk, dq

q, context: (B·Q, H)   k, v: (B·T, H), head n in columns nD to (n+1)D   mask: (B, T)   lse: (B, N, Q)
each but mask and lse may be a slice of wider rows; Q = T, but for the last layer, which is asked for fewer tokens

Scores are computed for a few heads at a time, as many as fit the cache, with the keys down and the queries
across: softmax's maxima and sums then run along the memory, which for T = 32 is ten times as fast as rows. Two
savings: 1/√D is applied to q, and 1/Σ exp to the context, each T × D instead of T × T. And Σ_j dprobs_j probs_j,
a sum over T, is computed as its equal Σ_d dcontext_d context_d, a sum over D.
"""

import functools
import math

import numpy as np

from .tiles import TILE_BYTES


def attention_forward(q, k, v, mask, heads, dropout, *, context, lse):
    q, k, v, context = (by_head(x, heads, len(mask)) for x in (q, k, v, context))
    factors_of = mask_factors(dropout, lse, mask)
    for tile in score_tiles(lse, mask):
        scaled = q[tile] / math.sqrt(q.shape[-1])
        probs, probs_of = _scores(scaled, k[tile], mask[tile[0]])
        top = probs.max(axis=0)
        probs -= top
        np.exp(probs, out=probs)
        total = np.ones(len(probs), probs.dtype) @ probs             # Σ over keys, for each head and query
        lse[tile] = (np.log(total) + top).reshape(lse[tile].shape)
        if dropout is not None:
            probs_of *= factors_of(tile)
        np.matmul(probs_of.swapaxes(-1, -2), v[tile], out=context[tile])
        context[tile] /= total.reshape(*lse[tile].shape, 1)


def attention_backward(dcontext, q, k, v, mask, heads, dropout, context, lse, *, dq, dk, dv):
    q, k, v, context = (by_head(x, heads, len(mask)) for x in (q, k, v, context))
    dq, dk, dv, dcontext = (by_head(x, heads, len(mask)) for x in (dq, dk, dv, dcontext))
    factors_of = mask_factors(dropout, lse, mask)
    for tile in score_tiles(lse, mask):
        scaled = q[tile] / math.sqrt(q.shape[-1])
        probs, probs_of = _scores(scaled, k[tile], mask[tile[0]])
        probs -= lse[tile].reshape(-1)
        np.exp(probs, out=probs)
        dprobs, dprobs_of = _empty_scores(lse[tile], mask)

        np.matmul(v[tile], dcontext[tile].swapaxes(-1, -2), out=dprobs_of)
        if dropout is None:
            np.matmul(probs_of, dcontext[tile], out=dv[tile])        # forward: context = probs v
        else:
            factors = factors_of(tile)
            dprobs_of *= factors
            np.matmul(probs_of * factors, dcontext[tile], out=dv[tile])
        dprobs -= np.vecdot(dcontext[tile], context[tile]).reshape(-1)
        dprobs *= probs                                              # dscores
        np.matmul(dprobs_of, scaled, out=dk[tile])
        np.matmul(dprobs_of.swapaxes(-1, -2), k[tile], out=dq[tile])
        dq[tile] /= math.sqrt(q.shape[-1])


def by_head(x, heads, examples):
    """(B·T, H) -> a view (B, N, T, D)."""
    return x.reshape(examples, -1, heads, x.shape[1] // heads).transpose(0, 2, 1, 3)


def score_tiles(lse, mask):
    """(examples, heads) whose scores fit a tile: some heads of one example, or all heads of some examples."""
    (B, N, Q), T = lse.shape, mask.shape[1]
    fit = max(1, TILE_BYTES // (Q * T * lse.itemsize))
    examples, heads = max(1, fit // N), min(fit, N)
    for b in range(0, B, examples):
        for n in range(0, N, heads):
            yield slice(b, min(b + examples, B)), slice(n, min(n + heads, N))


def _empty_scores(lse, mask):
    """One array as two views: (keys, all else) for softmax, (b, n, keys, queries) for the matrix products."""
    (b, n, Q), T = lse.shape, mask.shape[1]
    scores = np.empty((T, b * n * Q), lse.dtype)
    return scores, scores.reshape(T, b, n, Q).transpose(1, 2, 0, 3)


def _scores(scaled, k, mask):
    scores, scores_of = _empty_scores(scaled[..., 0], mask)
    np.matmul(k, scaled.swapaxes(-1, -2), out=scores_of)
    if mask.any():
        scores_of += mask[:, None, :, None]
    return scores, scores_of


def mask_factors(dropout, lse, mask):
    """A function of (examples, heads): 0 or 1 / P(keep), keys down.

    An example's dropout mask is sampled for all its heads at once, N·Q·T bytes, and kept until another example's turn.
    """
    (_, N, Q), T = lse.shape, mask.shape[1]

    @functools.lru_cache(maxsize=1)
    def mask_of(first, end):
        return dropout.mask(np.broadcast_to(lse[first:end, :, :, None], (end - first, N, Q, T)), first)

    def factors(tile):
        (b, n), dtype = tile, lse.dtype.type
        mask, scale = mask_of(b.start, b.stop)
        return mask[:, n].swapaxes(-1, -2) * dtype(scale)

    return factors
