"""Attention with softmax and its gradient a number at a time; `cpu.attention` has the idea and the shapes.

    forward     probs = softmax(scores / √D + mask)                 lse = log Σ_keys exp(scores / √D + mask)
    backward    probs = exp(scores / √D + mask - lse)               dscores = probs (dprobs - inner) / √D

scores, dprobs: (b, n, keys, queries)   mask: (b, keys)   lse, inner: (b, n, queries)
"""

import math

import numpy as np

from ...backend import lowest
from ..cpu.attention import by_head, keys_down, mask_factors, score_tiles
from .loops import BLOCK, ONE, F, exp, loops


def attention_forward(q, k, v, mask, heads, dropout, *, context, lse):
    q, k, v, context = (by_head(x, heads, len(mask)) for x in (q, k, v, context))
    factors_of = mask_factors(dropout, lse, mask)
    for tile in score_tiles(lse, mask):
        probs, key_mask = scores(q[tile], k[tile], mask[tile[0]])
        softmax_forward(probs, key_mask, 1 / math.sqrt(q.shape[-1]), lse[tile])
        if dropout is not None:
            probs *= factors_of(tile)
        np.matmul(probs.swapaxes(-1, -2), v[tile], out=context[tile])


def attention_backward(dcontext, q, k, v, mask, heads, dropout, context, lse, *, dq, dk, dv):
    q, k, v, context = (by_head(x, heads, len(mask)) for x in (q, k, v, context))
    dq, dk, dv, dcontext = (by_head(x, heads, len(mask)) for x in (dq, dk, dv, dcontext))
    factors_of = mask_factors(dropout, lse, mask)
    for tile in score_tiles(lse, mask):
        probs, key_mask = scores(q[tile], k[tile], mask[tile[0]])
        dprobs = v[tile] @ dcontext[tile].swapaxes(-1, -2)
        factors = None if dropout is None else factors_of(tile)
        if dropout is not None:
            dprobs *= factors
        inner = np.vecdot(dcontext[tile], context[tile])
        softmax_backward(probs, dprobs, key_mask, 1 / math.sqrt(q.shape[-1]), lse[tile], inner)
        if dropout is not None:
            probs *= factors
        np.matmul(probs, dcontext[tile], out=dv[tile])
        np.matmul(dprobs, q[tile], out=dk[tile])     # dprobs are dscores by now
        np.matmul(dprobs.swapaxes(-1, -2), k[tile], out=dq[tile])


def scores(q, k, mask):
    """q kᵀ: (b, n, keys, queries), and the mask that is left to add once it is scaled."""
    found = k @ q.swapaxes(-1, -2)
    if mask.ndim == 2:
        return found, mask
    np.copyto(found, F(lowest(F)), where=keys_down(mask) < 0)        # a tile's, of pairs
    return found, np.zeros((len(mask), k.shape[2]), F)


@loops("(f4[:, :, :, ::1], f4[:, ::1], f4, f4[:, :, :])")
def softmax_forward(scores, mask, scale, lse):
    """scores become probs"""
    examples, heads, keys, queries = scores.shape
    top, total = np.empty(queries, F), np.empty(queries, F)
    for b in range(examples):
        for n in range(heads):
            for start in range(0, queries, BLOCK):
                end = min(start + BLOCK, queries)
                t, s = top[start:end], total[start:end]
                t[:], s[:] = F(-np.inf), F(0)
                for key in range(keys):
                    row, masked = scores[b, n, key, start:end], mask[b, key]
                    for j in range(len(row)):
                        row[j] = row[j] * scale + masked
                        t[j] = row[j] if row[j] > t[j] else t[j]
                for key in range(keys):
                    row = scores[b, n, key, start:end]
                    for j in range(len(row)):
                        row[j] = exp(row[j] - t[j])
                        s[j] += row[j]
                for j in range(len(s)):
                    lse[b, n, start + j] = np.log(s[j]) + t[j]
                    s[j] = ONE / s[j]
                for key in range(keys):
                    row = scores[b, n, key, start:end]
                    for j in range(len(row)):
                        row[j] *= s[j]


@loops("(f4[:, :, :, ::1], f4[:, :, :, ::1], f4[:, ::1], f4, f4[:, :, :], f4[:, :, :])")
def softmax_backward(scores, dprobs, mask, scale, lse, inner):
    """scores become probs, dprobs become dscores"""
    examples, heads, keys, queries = scores.shape
    for b in range(examples):
        for n in range(heads):
            log_sums, inners = lse[b, n].copy(), inner[b, n].copy()  # side by side, as the loop needs them
            for key in range(keys):
                row, d_row, masked = scores[b, n, key], dprobs[b, n, key], mask[b, key]
                for j in range(queries):
                    row[j] = exp(row[j] * scale + masked - log_sums[j])
                    d_row[j] = row[j] * (d_row[j] - inners[j]) * scale
