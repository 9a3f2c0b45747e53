"""A whole GPU, pretended: fake_cupy, kernels by g++, and for cuBLAS a product with sums in float64."""

import contextlib
import sys
from unittest import mock

import fake_cupy
import numpy as np
from storage import as_float64, of_storage

from minalbert.kernels import gpu
from minalbert.kernels.gpu.gemm import layouts

NAMES = {"uint16": "bf16", "float16": "f16", "float32": "f32"}


class Gemm:
    def __init__(self, workspace, stream, tf32=False):
        pass

    def __call__(self, a, b, *, out, add=False):
        fake_cupy.run(product, a, b, out, add, effect=True)


def product(a, b, out, add):
    layouts(a, b, out)  # refuses what cuBLAS cannot do
    result = as_float64(a) @ as_float64(b) + (as_float64(out) if add else 0.0)
    out[...] = of_storage(result.astype(np.float32), NAMES[str(out.dtype)])


@contextlib.contextmanager
def pretended_gpu():
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(sys.modules, {"cupy": fake_cupy}))
        stack.enter_context(mock.patch.object(gpu.kernels, "Gemm", Gemm))
        stack.enter_context(mock.patch.object(gpu, "find_library", return_value=None))
        yield fake_cupy
