"""Scratch memory: named arrays that stay."""

import math

import numpy as np


class Scratch:
    """Asked for again, a name gives the same memory; once each has had its largest size, nothing is allocated."""

    def __init__(self):
        self._buffers = {}

    def __call__(self, name, shape, dtype):
        """An array with anything in it. A buffer is allocated anew only where it was too small."""
        import cupy

        size, dtype = math.prod(shape), np.dtype(dtype)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            self._buffers[name] = buffer = cupy.empty(size, dtype)
        return buffer[:size].reshape(shape)

    def buffers(self):
        """{name: array}: what a CUDA graph that was captured with them keeps."""
        return dict(self._buffers)
