"""Sparse attention, tile by tile: what no token sees is never computed. `layers.sparse_attention` has the patterns.

A tile gathers the rows of its keys, and is attention as in `attention.py`: keys down, 1/√D applied to q. Backward adds
the gradients of a tile's keys and values home, because a key lies in several tiles.

q, k, v, context: (B·T, H), each may be a slice of wider rows   mask: (B, T)   lse: (B, N, T)
of a tile: q, context: (B, N, Q, D)   k, v: (B, N, K, D)   hidden: (K, Q), added to its scores
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...layers.sparse_attention import HIDDEN, tiles
from .tiles import TILE_BYTES


class TileInputs(NamedTuple):
    queries: slice
    keys: np.ndarray                                 # (K,) their places
    q: Any                                           # / √D
    k: Any
    v: Any
    mask: np.ndarray                                 # (B, K)
    hidden: np.ndarray
    dropped: Any                                     # (B, N, K, Q) 0 or 1 / P(keep), or None


def sparse_attention_forward(q, k, v, mask, heads, dropout, pattern, *, context, lse):
    forward_by_tiles(attend_forward, q, k, v, mask, heads, dropout, pattern, context=context, lse=lse)


def sparse_attention_backward(dcontext, q, k, v, mask, heads, dropout, pattern, context, lse, *, dq, dk, dv):
    backward_by_tiles(attend_backward, dcontext, q, k, v, mask, heads, dropout, pattern, context, lse,
                      dq=dq, dk=dk, dv=dv)  # fmt: skip


def forward_by_tiles(attend, q, k, v, mask, heads, dropout, pattern, *, context, lse):
    """attend: of some heads of a tile"""
    context = rows_of(context, mask)
    for tile in tile_inputs(q, k, v, mask, heads, dropout, pattern):
        tile_context = by_head(context[:, tile.queries], heads)
        for group in groups(tile):
            attend(*chosen(tile, group), context=tile_context[group], lse=lse[:, :, tile.queries][group])


def backward_by_tiles(attend, dcontext, q, k, v, mask, heads, dropout, pattern, context, lse, *, dq, dk, dv):
    context, dcontext, dq, dk, dv = (rows_of(x, mask) for x in (context, dcontext, dq, dk, dv))
    dk.fill(0)
    dv.fill(0)
    scale = 1 / math.sqrt(q.shape[1] // heads)
    for tile in tile_inputs(q, k, v, mask, heads, dropout, pattern):
        tile_dq, tile_context, tile_dcontext = (by_head(x[:, tile.queries], heads) for x in (dq, context, dcontext))
        tile_dk, tile_dv = np.empty((2, len(mask), len(tile.keys), q.shape[1]), q.dtype)
        for group in groups(tile):
            attend(tile_dcontext[group], *chosen(tile, group), tile_context[group], lse[:, :, tile.queries][group],
                   dq=tile_dq[group], dk=by_head(tile_dk, heads)[group], dv=by_head(tile_dv, heads)[group])  # fmt: skip
        dq[:, tile.queries] *= scale                 # forward: q / √D
        dk[:, tile.keys] += tile_dk
        dv[:, tile.keys] += tile_dv


def tile_inputs(q, k, v, mask, heads, dropout, pattern):
    q, k, v = (rows_of(x, mask) for x in (q, k, v))
    scale = 1 / math.sqrt(q.shape[2] // heads)
    for number, (queries, keys, hidden) in enumerate(tiles(pattern, mask.shape[1], np)):
        tile_q, tile_k, tile_v = (by_head(x, heads) for x in (q[:, queries] * scale, k[:, keys], v[:, keys]))
        dropped = None
        if dropout is not None:
            shape = *tile_q.shape[:3], len(keys)
            kept, factor = dropout._replace(key=dropout.key.at(tile=number)).mask(np.broadcast_to(q[:1, :1, :1, None], shape), 0)
            dropped = kept.swapaxes(-1, -2) * q.dtype.type(factor)
        yield TileInputs(queries, keys, tile_q, tile_k, tile_v, mask[:, keys],
                         hidden.T.astype(q.dtype) * HIDDEN, dropped)  # fmt: skip


def groups(tile):
    """(examples, heads) whose scores fit the cache together."""
    B, N = tile.q.shape[:2]
    fit = max(1, TILE_BYTES // (tile.hidden.size * tile.q.itemsize))
    examples, heads = max(1, fit // N), min(fit, N)
    for b in range(0, B, examples):
        for n in range(0, N, heads):
            yield slice(b, min(b + examples, B)), slice(n, min(n + heads, N))


def chosen(tile, group):
    """A tile's q, k, v, mask, hidden and dropped for some examples and heads."""
    dropped = None if tile.dropped is None else tile.dropped[group]
    return tile.q[group], tile.k[group], tile.v[group], tile.mask[group[0]], tile.hidden, dropped


def rows_of(x, mask):
    """(B·T, H) -> (B, T, H), a view."""
    return x.reshape(*mask.shape, -1)


def by_head(x, heads):
    """(B, R, H) -> (B, N, R, D), a view."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def attend_forward(q, k, v, mask, hidden, dropped, *, context, lse):
    probs, probs_of = _scores(q, k, mask, hidden)
    top = probs.max(axis=0)
    probs -= top
    np.exp(probs, out=probs)
    total = np.ones(len(probs), probs.dtype) @ probs                 # Σ over keys, for each head and query
    lse[...] = (np.log(total) + top).reshape(lse.shape)
    if dropped is not None:
        probs_of *= dropped
    np.matmul(probs_of.swapaxes(-1, -2), v, out=context)
    context /= total.reshape(*lse.shape, 1)


def attend_backward(dcontext, q, k, v, mask, hidden, dropped, context, lse, *, dq, dk, dv):
    probs, probs_of = _scores(q, k, mask, hidden)
    probs -= lse.reshape(-1)
    np.exp(probs, out=probs)
    dprobs, dprobs_of = _empty_scores(q, k)

    np.matmul(v, dcontext.swapaxes(-1, -2), out=dprobs_of)
    if dropped is not None:
        dprobs_of *= dropped
    np.matmul(probs_of if dropped is None else probs_of * dropped, dcontext, out=dv)
    dprobs -= np.vecdot(dcontext, context).reshape(-1)
    dprobs *= probs                                                  # dscores
    np.matmul(dprobs_of, q, out=dk)
    np.matmul(dprobs_of.swapaxes(-1, -2), k, out=dq)


def _empty_scores(q, k):
    """One array as two views: (keys, all else) for softmax, (b, n, keys, queries) for the matrix products."""
    (b, n, Q, _), K = q.shape, k.shape[2]
    scores = np.empty((K, b * n * Q), q.dtype)
    return scores, scores.reshape(K, b, n, Q).transpose(1, 2, 0, 3)


def _scores(q, k, mask, hidden):
    scores, scores_of = _empty_scores(q, k)
    np.matmul(k, q.swapaxes(-1, -2), out=scores_of)
    scores_of += hidden
    if mask.any():
        scores_of += mask[:, None, :, None]
    return scores, scores_of
