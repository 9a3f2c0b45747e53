"""`kernels.gpu.Kernels` whose scratch memory is NaN whenever it is asked for, and what its tests have in common."""

import math
import sys

import numpy as np
from storage import as_float64, of_storage

from minalbert.kernels.gpu import Kernels

ROWS = (1, 7, 37)
COLUMNS = (1, 5, 64, 100, 768, 3072)  # eight at a time: fewer, a rest, whole warps and blocks
SIZES = [(rows, columns) for rows in ROWS for columns in COLUMNS]


def scratch(name, shape, dtype):
    count = math.prod(shape) * np.dtype(dtype).itemsize
    return sys.modules["cupy"].asarray(np.full(count, 0xFF, np.uint8).view(dtype).reshape(shape))


def gemm(a, b, *, out, add=False):
    """The product with sums in float64, of pretended arrays and real ones."""
    cupy = sys.modules["cupy"]
    name = {"uint16": "bf16", "float16": "f16", "float32": "f32"}[str(out.dtype)]
    result = as_float64(a.get()) @ as_float64(b.get()) + (as_float64(out.get()) if add else 0.0)
    out[...] = cupy.asarray(of_storage(result.astype(np.float32), name))


def kernels(storage="float32"):
    made = Kernels(storage, gemm=gemm)
    made.scratch = scratch
    return made


def shifted(cupy, x):
    """A copy of x that does not lie on a multiple of 16 bytes."""
    return cupy.asarray(np.concatenate([x.ravel()[:1], x.ravel()]))[1:].reshape(x.shape)
