"""Sparse attention: a token sees some of the tokens only (Child et al., 2019; Beltagy et al., 2020).

    scores = q kᵀ / √D + mask, and masked where token i does not see token j        probs, context as in `attention`

    "local"      i sees the w tokens around it               i - ⌊w/2⌋ ≤ j < i - ⌊w/2⌋ + w
    "block"      the tokens of its own block of w            ⌊i/w⌋ = ⌊j/w⌋
    "strided"    the w around it, and every s-th token       j mod s = 0
    and in each  the first g tokens see all, all see them    i < g or j < g

The T × T scores are cut into tiles: some queries, and the keys that any of them sees. A tile is a small full attention
with a mask of its own; no score outside the tiles is ever computed. A query lies in one tile, with all of its keys, so
its softmax is complete. A key lies in several, so its gradients add up. With w keys for each query, time and memory
grow with T w instead of T²; with every s-th token as well, with T (w + T/s).

    q, k, v, context: (B, N, T, D)   mask: (B, 1, 1, T), a constant   a tile's probs: (B, N, queries, keys)
"""

import functools
from itertools import pairwise
from typing import Any, NamedTuple

from ..backend import array_module, lowest
from .attention import attention_backward, attention_forward


class Pattern(NamedTuple):
    """Which tokens see which."""

    kind: str                                        # "local", "block" or "strided"
    window: int
    stride: int
    first: int                                       # how many tokens at the beginning see all and are seen by all
    queries: int = 64                                # of a tile: more of them compute more hidden scores

    def sees(self, i, j):
        """Does token i see token j? Whole numbers, or arrays of them."""
        w = self.window
        near = i // w == j // w if self.kind == "block" else (i - w // 2 <= j) & (j < i - w // 2 + w)
        if self.kind == "strided":
            near = near | (j % self.stride == 0)
        return near | (i < self.first) | (j < self.first)


class Tile(NamedTuple):
    queries: slice
    keys: Any                                        # (keys,) their places
    hidden: Any                                      # (queries, keys) True where the query does not see the key


class SparseAttentionCache(NamedTuple):
    tiles: tuple
    attention: list                                  # attention's cache of each tile
    shape: tuple                                     # of q

    @property
    def probs(self):
        """(B, N, T, T), zero where a token does not see another."""
        B, N, T, _ = self.shape
        xp = array_module(self.attention[0].probs)
        probs = xp.zeros((B, N, T, T), self.attention[0].probs.dtype)
        for tile, cache in zip(self.tiles, self.attention, strict=True):
            probs[:, :, tile.queries][..., tile.keys] = cache.probs
        return probs


@functools.lru_cache(maxsize=64)
def tiles(pattern, length, xp):
    """All tiles of a sequence: every pair that sees each other is in one of them. xp: NumPy or CuPy"""
    kind, w, s, g, queries = pattern
    block, strided = kind == "block", kind == "strided"
    cuts = {*range(0, length, queries), *(range(0, length, w) if block else ()), length}
    made = [(0, min(g, length), range(length))]      # the first g tokens see all
    for start, end in pairwise(sorted({min(g, length)} | {cut for cut in cuts if cut > g})):
        first = start // w * w if block else start - w // 2
        last = first + w if block else end - 1 - w // 2 + w
        keys = {*range(g), *range(first, last), *(range(0, length, s) if strided else ())}
        made.append((start, end, sorted(key for key in keys if 0 <= key < length)))
    return tuple(_tile(pattern, start, end, keys, xp) for start, end, keys in made if start < end)


def _tile(pattern, start, end, keys, xp):
    keys = xp.asarray(list(keys))
    return Tile(slice(start, end), keys, ~pattern.sees(xp.arange(start, end)[:, None], keys))


def tile_mask(mask, hidden):
    """mask (..., 1, keys), hidden (queries, keys) -> (..., queries, keys), to be added to a tile's scores.

    A token that sees padding alone sees it as if it were none; so its row has a key, and none outside its window.
    """
    xp, masked = array_module(mask), mask.dtype.type(lowest(mask.dtype))
    padding = mask == masked
    lost = (hidden | padding).all(axis=-1, keepdims=True)
    return xp.where(hidden, masked, xp.where(lost & padding, mask.dtype.type(0), mask))


def sparse_attention_forward(q, k, v, mask, rate=0.0, key=None, *, pattern):
    context, caches = array_module(q).empty_like(q), []
    cut = tiles(pattern, q.shape[-2], array_module(q))
    for number, (queries, keys, hidden) in enumerate(cut):
        context[:, :, queries], cache = attention_forward(
            q[:, :, queries], k[:, :, keys], v[:, :, keys], tile_mask(mask[..., keys], hidden), rate,
            key and key.at(tile=number),
        )  # fmt: skip
        caches.append(cache)
    return context, SparseAttentionCache(cut, caches, q.shape)


def sparse_attention_backward(dcontext, cache):
    dq, dk, dv = (array_module(dcontext).zeros_like(dcontext) for _ in range(3))
    for (queries, keys, _), tile_cache in zip(cache.tiles, cache.attention, strict=True):
        dq[:, :, queries], dk_tile, dv_tile, _ = attention_backward(dcontext[:, :, queries], tile_cache)
        dk[:, :, keys] += dk_tile                    # forward: a key is read in several tiles
        dv[:, :, keys] += dv_tile
    return dq, dk, dv, None
