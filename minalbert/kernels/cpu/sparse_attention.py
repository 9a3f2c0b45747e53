"""Sparse attention, tile by tile: the scores between tiles are never computed. `layers.sparse_attention` has the tiles.

    for each tile     attention of its queries and keys, under a mask of its own: (B, queries, keys)

Backward adds the gradients of a tile's keys and values, because a key lies in several tiles. A tile's keys are copied,
but for the tile of the first tokens, which see all: it reads k and v themselves, and begins dk and dv.

q, k, v, context: (B·T, H)   mask: (B, T)   lse: (B, N, T)   attend: the full attention of these kernels
"""

import functools

import numpy as np

from ...layers.sparse_attention import tile_mask, tiles
from .attention import attention_backward, attention_forward


def forward_in_tiles(attend, q, k, v, mask, heads, dropout, pattern, *, context, lse):
    q, k, v, context = (by_example(x, mask) for x in (q, k, v, context))
    for queries, keys, own_mask, tile_dropout in tiles_of(pattern, mask, dropout):
        attend(q[:, queries], k[:, keys], v[:, keys], own_mask, heads, tile_dropout,
               context=context[:, queries], lse=lse[:, :, queries])  # fmt: skip


def backward_in_tiles(attend, dcontext, q, k, v, mask, heads, dropout, pattern, context, lse, *, dq, dk, dv):
    q, k, v, context = (by_example(x, mask) for x in (q, k, v, context))
    dq, dk, dv, dcontext = (by_example(x, mask) for x in (dq, dk, dv, dcontext))
    if pattern.first == 0:
        dk.fill(0)
        dv.fill(0)
    for queries, keys, own_mask, tile_dropout in tiles_of(pattern, mask, dropout):
        begin = queries.start == 0 and pattern.first > 0
        shape = len(mask), own_mask.shape[-1], k.shape[2]
        dk_tile, dv_tile = (dk, dv) if begin else np.empty((2, *shape), k.dtype)
        attend(dcontext[:, queries], q[:, queries], k[:, keys], v[:, keys], own_mask, heads, tile_dropout,
               context[:, queries], lse[:, :, queries], dq=dq[:, queries], dk=dk_tile, dv=dv_tile)  # fmt: skip
        if not begin:
            dk[:, keys] += dk_tile
            dv[:, keys] += dv_tile


def by_example(x, mask):
    """(B·T, H) -> (B, T, H), a view."""
    return x.reshape(*mask.shape, x.shape[1])


def tiles_of(pattern, mask, dropout):
    """Each tile's queries, keys, mask (B, queries, keys) and dropout; the mask lies in memory with the keys down."""
    for number, (queries, keys, hidden) in enumerate(tiles(pattern, mask.shape[1], np)):
        keys_down = np.ascontiguousarray(tile_mask(mask[:, None, keys], hidden).swapaxes(1, 2))
        tile_dropout = dropout and dropout._replace(key=dropout.key.at(tile=number))
        yield queries, slice(None) if queries.start < pattern.first else keys, keys_down.swapaxes(1, 2), tile_dropout


sparse_attention_forward = functools.partial(forward_in_tiles, attention_forward)
sparse_attention_backward = functools.partial(backward_in_tiles, attention_backward)
