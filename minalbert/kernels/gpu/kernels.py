"""One object that holds the GPU's kernels, their scratch memory and dropout's key.

    do = Kernels()
    do.gelu_forward(u, bias, "tanh", out=y)

Activations are float32, float16, or bf16 in uint16 arrays; biases, gains, gradients of parameters and statistics of
rows are float32; ids, labels and numbers of rows are int64. Partial sums and the like lie in `scratch`: once each name
has been asked for in its largest size nothing is allocated, so that a step may be captured into a CUDA graph. What
changes from step to step is then read from memory: seed, step and example of a dropout key lie in `key_on_gpu`.
`write_key(key)` writes them there; with a graph it is called before the capture and before each launch.

The methods are the functions of the files beside this one, whose first argument, `gpu`, is such an object.
"""

import math

import numpy as np

from ...backend import dropout_threshold
from . import attention, cross_entropy, embedding, gelu, norm, rows
from .gemm import WORKSPACE, Gemm
from .launch import launch


class Scratch:
    """Named arrays that stay. Asked for again, a name gives the same memory; once each has had its largest size,
    nothing is allocated.
    """

    def __init__(self):
        self._buffers = {}

    def __call__(self, name, shape, dtype):
        """An array with anything in it. A buffer is allocated again only where it was too small."""
        import cupy

        size, dtype = math.prod(shape), np.dtype(dtype)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            self._buffers[name] = buffer = cupy.empty(size, dtype)
        return buffer[:size].reshape(shape)

    def buffers(self):
        """{name: array}: what a CUDA graph that was captured with them keeps."""
        return dict(self._buffers)


class Kernels:
    def __init__(self, storage="float32", tf32=False, gemm=None):
        """storage: what activations are kept in: "float32", "float16", or "uint16" for bf16."""
        self.STORAGE = self.WEIGHTS = None if storage == "float32" else storage
        self.scratch = Scratch()
        self.gemm = gemm or Gemm(self.scratch("cublas", (WORKSPACE,), np.uint8), current_stream, tf32)
        self.key_on_gpu, self.written_key = self.scratch("dropout key", (3,), np.uint64), None

    cast, add_bias, column_sums = rows.cast, rows.add_bias, rows.column_sums
    drop, take, add_rows = rows.drop, rows.take, rows.add_rows
    gelu_forward, gelu_backward = gelu.gelu_forward, gelu.gelu_backward
    norm_forward, norm_output, norm_backward = norm.norm_forward, norm.norm_output, norm.norm_backward
    attention_forward, attention_backward = attention.attention_forward, attention.attention_backward
    embedding_forward, embedding_backward = embedding.embedding_forward, embedding.embedding_backward
    cross_entropy_forward = cross_entropy.cross_entropy_forward
    cross_entropy_backward = cross_entropy.cross_entropy_backward

    def write_key(self, key):
        """Write a key's seed, step and first example where kernels read them, unless they are there already."""
        numbers = key.seed, key.step, key.example
        if numbers != self.written_key:
            launch(("rows.cu", "write_key"), (1,), (1,), self.key_on_gpu, *numbers)
            self.written_key = numbers

    def dropout_arguments(self, dropout):
        """The arguments of a kernel with dropout: key, layer, site, threshold, scale (philox.cuh), length."""
        if dropout is None:
            return None, 0, 0, 0, 1.0, 1
        threshold, scale = dropout_threshold(dropout.rate)
        return self.key_on_gpu, dropout.key.layer, dropout.key.site, threshold, scale, dropout.length


def current_stream():
    import cupy

    return cupy.cuda.get_current_stream().ptr
