"""The launches of embedding.cu; `cpu.embedding` has what they compute."""

import numpy as np

from .launch import launch
from .tiles import TALL, instance


def embedding_forward(gpu, ids, types, word, position, token_type, *, out):
    (_, T), (R, E) = ids.shape, out.shape
    grid = (-(-R // TALL),)
    tables = word, position, token_type
    launch(("embedding.cu", instance("embedding_forward", out)), grid, (32, TALL), ids, types, *tables, out, R, T, E)


def embedding_backward(gpu, dy, ids, types, *, dword, dposition, dtoken_type):
    """The tokens are sorted by word, so that each row of the table is one sum, in one order."""
    (B, T), (R, E), kinds, block = ids.shape, dy.shape, len(dtoken_type), (32, TALL)
    order = gpu.scratch("order", (R,), np.int32)
    by_place = gpu.scratch("by place", (kinds, T, E), np.float32)
    launch(("rows.cu", "sort_places"), (-(-R // 128),), (128,), ids, order, R)
    launch(("embedding.cu", instance("embedding_backward_word", dy)), (R,), block, dy, ids, order, dword, R, E)
    grid = -(-T * E // 32), kinds
    launch(("embedding.cu", instance("embedding_backward_places", dy)), grid, block, dy, types, by_place, B, T, E)
    grid = -(-E // 32), T + kinds
    arguments = by_place, dposition, dtoken_type, kinds, T, E
    launch(("embedding.cu", "embedding_backward_tables"), grid, block, *arguments)
