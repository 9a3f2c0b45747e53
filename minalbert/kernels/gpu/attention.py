"""The GPU's attention: which kernel, how many blocks, how much shared memory. attention.cu has the formulas.

qkv, dqkv: (B·T, 3H)   context, dcontext: (B·T, H)      float32, float16, or bfloat16 as uint16
mask: (B, T) float32   lse, delta: (B, N, T) float32

Activations of 16 bits with heads of 32, 64 or 128 numbers are multiplied on tensor cores; they must begin at multiples
of 16 bytes. All else, up to heads of 128, goes to attention_simple.cu. delta is scratch: what is in it before and after
is of no interest. place: (3,) uint64, a step's (seed, step, example) as they lie on the GPU. A captured step needs it,
for it is read anew whenever the step is replayed; without it, it is made from `coins`, once for each step.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from .launch import launch

LARGEST_HEAD = 128
STORAGE = {"float32": "f32", "uint16": "bf16", "float16": "f16"}
FORWARD, BACKWARD_Q, BACKWARD_KV = "attention_forward", "attention_backward_q", "attention_backward_kv"
# (tiles of 16 rows that a warp owns, columns that it meets at a time), as large as the registers allow without spills
FORWARD_TILES = {32: (2, 64), 64: (2, 64), 128: (1, 32)}
BACKWARD_TILES = {32: (2, 32), 64: (1, 64), 128: (1, 32)}


class Plan(NamedTuple):
    kernel: tuple                                    # file, name, definitions
    rows: int                                        # of a head, that a block owns
    threads: int                                     # of a block
    shared_mem: int                                  # bytes


def attention_forward(qkv, mask, heads, coins, context, lse, place=None):
    told = coin_arguments(coins, place)
    _launch(FORWARD, qkv, mask, heads, told, qkv, mask, context, lse)


def attention_backward(dcontext, qkv, mask, heads, coins, context, lse, dqkv, delta, place=None):
    """The first kernel fills dq and delta, the second, which reads delta, dk and dv."""
    told = coin_arguments(coins, place)
    _launch(BACKWARD_Q, qkv, mask, heads, told, dcontext, qkv, mask, context, lse, dqkv, delta)
    _launch(BACKWARD_KV, qkv, mask, heads, told, dcontext, qkv, mask, lse, delta, dqkv)


def _launch(name, qkv, mask, heads, told, *arrays):
    (B, T), D = mask.shape, qkv.shape[1] // (3 * heads)
    place, *_ = told
    todo = plan(name, str(qkv.dtype), D, place is not None)
    grid = -(-T // todo.rows), heads, B
    numbers = T, heads, 1 / math.sqrt(D), *told
    launch(todo.kernel, grid, (todo.threads,), *arrays, *numbers, shared_mem=todo.shared_mem)


@functools.cache
def plan(name, dtype, D, dropout):
    if not 1 <= D <= LARGEST_HEAD:
        raise ValueError(f"a head of {D} numbers does not fit the GPU's attention, which takes 1 to {LARGEST_HEAD}")
    tensor_cores = dtype != "float32" and D in FORWARD_TILES
    return (_tensor_core_plan if tensor_cores else _simple_plan)(name, STORAGE[dtype], D, dropout)


def _tensor_core_plan(name, storage, D, dropout):
    forward = name == FORWARD
    tiles, step = (FORWARD_TILES if forward else BACKWARD_TILES)[D]
    rows = 4 * 16 * tiles                            # 4 warps
    owned = rows if forward else 2 * rows            # q; or q and dcontext; or k and v
    numbers = step if name != BACKWARD_KV else 2 * step          # the mask; or lse and delta
    shared_mem = (owned + 4 * step) * (D + 8) * 2 + 2 * numbers * 4
    definitions = f"HEAD={D}", f"DROPOUT={dropout:d}", f"ROW_TILES={tiles}", f"STEP={step}"
    file = "attention.cu" if forward else "attention_backward.cu"
    return Plan((file, f"{name}_{storage}", *definitions), rows, 128, shared_mem)


def _simple_plan(name, storage, D, dropout):
    tiles = 3 if name == FORWARD else 4              # q, k, v, and dcontext
    pitch = 4 * (-(-D // 4) | 1)
    kernel = "attention_simple.cu", f"{name}_{storage}", f"HEAD={D}", f"DROPOUT={dropout:d}"
    return Plan(kernel, 32, 256, tiles * 32 * pitch * 4)


def coin_arguments(coins, place):
    """What every kernel with dropout is told (philox.cuh): place, layer, site, threshold, scale."""
    if coins is None:
        return None, 0, 0, 0, 1.0
    stream, threshold = coins.stream, min(round(coins.rate * 65536), 65535)
    if place is None:
        place = _place(stream.seed, stream.step, stream.example)
    return place, stream.layer, stream.site, threshold, 65536 / (65536 - threshold)


@functools.lru_cache(maxsize=64)
def _place(*numbers):
    import cupy

    return cupy.asarray(np.array(numbers, np.uint64))
