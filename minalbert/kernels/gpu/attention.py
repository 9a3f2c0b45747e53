"""The launches of attention.cu and its like: which kernel, how many blocks, how much shared memory.

attention.cu has the formulas; `cpu.attention` has shapes and what is computed. mask and lse are float32. A matrix may
be a slice of wider rows: a kernel is given its first row, and the stride from row to row.

Activations of 16 bits with heads of 32, 64 or 128 numbers are multiplied on tensor cores; their rows must begin at
multiples of 16 bytes. All else, up to heads of 128, goes to attention_simple.cu.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from .launch import launch
from .tiles import STORAGE, row_stride

LARGEST_HEAD = 128
FORWARD, BACKWARD_Q, BACKWARD_KV = "attention_forward", "attention_backward_q", "attention_backward_kv"
# (tiles of 16 rows that a warp owns, columns that it meets at a time), as large as the registers allow without spills
FORWARD_TILES = {32: (2, 64), 64: (2, 64), 128: (1, 32)}
BACKWARD_TILES = {32: (2, 32), 64: (1, 64), 128: (1, 32)}


class AttentionLaunch(NamedTuple):
    kernel: tuple                                    # file, name, definitions
    rows: int                                        # of a head, queries or keys, that a block owns
    threads: int                                     # of a block
    shared_mem: int                                  # bytes


def attention_forward(gpu, q, k, v, mask, heads, dropout, *, context, lse):
    arrays = *matrix(q), *matrix(k), *matrix(v), mask, *matrix(context), lse
    _launch(gpu, FORWARD, arrays, q, mask, lse, heads, dropout)


def attention_backward(gpu, dcontext, q, k, v, mask, heads, dropout, context, lse, *, dq, dk, dv):
    """The first kernel fills dq and delta, the second, which reads delta, dk and dv."""
    delta = gpu.scratch("delta", lse.shape, np.float32)
    given = *matrix(dcontext), *matrix(q), *matrix(k), *matrix(v), mask
    _launch(gpu, BACKWARD_Q, (*given, *matrix(context), lse, *matrix(dq), delta), q, mask, lse, heads, dropout)
    _launch(gpu, BACKWARD_KV, (*given, lse, delta, *matrix(dk), *matrix(dv)), q, mask, lse, heads, dropout)


def matrix(x):
    return x[0], row_stride(x)


def _launch(gpu, name, arrays, q, mask, lse, heads, dropout):
    if dropout is not None:
        gpu.write_key(dropout.key)
    (B, T), Q, D = mask.shape, lse.shape[2], q.shape[1] // heads
    chosen = attention_launch(name, str(q.dtype), D, dropout is not None)
    grid = -(-(T if name == BACKWARD_KV else Q) // chosen.rows), heads, B
    *dropout_arguments, _ = gpu.dropout_arguments(dropout)           # all but the length: lse and mask have Q and T
    numbers = Q, T, heads, 1 / math.sqrt(D), *dropout_arguments
    launch(chosen.kernel, grid, (chosen.threads,), *arrays, *numbers, shared_mem=chosen.shared_mem)


@functools.cache
def attention_launch(name, dtype, D, dropout):
    if not 1 <= D <= LARGEST_HEAD:
        raise ValueError(f"a head of {D} numbers does not fit the GPU's attention, which takes 1 to {LARGEST_HEAD}")
    tensor_cores = dtype != "float32" and D in FORWARD_TILES
    return (_tensor_core_launch if tensor_cores else _simple_launch)(name, STORAGE[dtype], D, dropout)


def _tensor_core_launch(name, storage, D, dropout):
    forward = name == FORWARD
    tiles, step = (FORWARD_TILES if forward else BACKWARD_TILES)[D]
    rows = 4 * 16 * tiles                            # 4 warps
    owned = rows if forward else 2 * rows            # q; or q and dcontext; or k and v
    numbers = step if name != BACKWARD_KV else 2 * step          # the mask; or lse and delta
    shared_mem = (owned + 4 * step) * (D + 8) * 2 + 2 * numbers * 4
    definitions = f"HEAD={D}", f"DROPOUT={dropout:d}", f"ROW_TILES={tiles}", f"STEP={step}"
    file = "attention.cu" if forward else "attention_backward.cu"
    return AttentionLaunch((file, f"{name}_{storage}", *definitions), rows, 128, shared_mem)


def _simple_launch(name, storage, D, dropout):
    tiles = 3 if name == FORWARD else 4              # q, k, v, and dcontext
    pitch = 4 * (-(-D // 4) | 1)
    kernel = "attention_simple.cu", f"{name}_{storage}", f"HEAD={D}", f"DROPOUT={dropout:d}"
    return AttentionLaunch(kernel, 32, 256, tiles * 32 * pitch * 4)
