"""`optim.Lamb` on a GPU: the whole vector of weights in two launches (lamb.cu).

    optimiser = GpuLamb(Lamb(weight_decay=0.01), params)
    norm, scale = optimiser.gradient_scale(grads, limit=1.0)
    ratios = optimiser.step(params, grads, moments, rate, t, scale, half=half)

The vector is cut into chunks of at most 4096 weights, each of one tensor alone. Where a chunk begins and which tensor
it belongs to is computed once. A step agrees with `Lamb.step` to the roundings of float32: what belongs to one weight
is the same arithmetic, and sums of squares are of float64 here and there. Two runs agree to the last bit.

Gradients of float16 come multiplied by a factor that keeps them from vanishing; `unscale` is its inverse. Where one
of them is not finite, `scale` is NaN, and the step that gets it changes nothing.
"""

from itertools import pairwise

import numpy as np

from ...backend import array_module
from ...errors import ConfigError
from ...optim import Lamb
from ...optim.adamw import corrections
from ...optim.blocks import check, exempt
from .launch import launch
from .tiles import STORAGE

CHUNK = 4096
THREADS = 256                                        # lamb.cu has the same


def chunk_tables(params, chunk):
    """The place of each chunk and the tensor that it belongs to, on the GPU.

    start                    (chunks,) int64
    length, tensor           (chunks,) int32
    first, count             (tensors,) int32: a tensor's first chunk, and how many it has
    adapted                  (tensors,) int32: 1 with decay and a ratio, 0 without
    """
    sizes = [tensor.size for tensor in params.values()]
    counts = [-(-size // chunk) for size in sizes]
    ends, firsts = np.cumsum([0, *sizes]), np.cumsum([0, *counts])
    starts = np.concatenate([np.arange(*ends_of, chunk) for ends_of in pairwise(ends)])
    stops = np.minimum(starts + chunk, np.repeat(ends[1:], counts))
    tensor = np.repeat(np.arange(len(sizes)), counts)
    adapted = [not exempt(*item) for item in params.items()]
    xp, tables = array_module(params.flat), (stops - starts, tensor, firsts[:-1], counts, adapted)
    return xp.asarray(starts), *(xp.asarray(np.asarray(table, "int32")) for table in tables)


class GpuLamb:
    def __init__(self, settings, params, chunk=CHUNK):
        """settings: an `optim.Lamb`."""
        if params.dtype != np.float32 or params.device != "cuda":
            raise ConfigError(f"LAMB on a GPU needs float32 weights on a GPU; these are {params!r}")
        xp = self.xp = array_module(params.flat)
        self.settings, self.shapes = settings, params.shapes
        self.tables = chunk_tables(params, chunk)
        self.chunks = len(self.tables[0])
        self.squares = xp.empty((self.chunks, 2), "float64")
        self.ratios = xp.full(len(params), 1.0, "float64")
        self.norm, self.scale = xp.zeros((), "float64"), xp.zeros((), "float32")

    def gradient_scale(self, grads, limit=0.0, unscale=1.0):
        """The norm of unscale · grads, and what to multiply grads by: buffers that the next call writes over.

        Without a limit (0) the factor is `unscale`; with one, `unscale` · clip_factor(norm, limit).
        """
        start, length = self.tables[:2]
        squares = self.squares.reshape(-1)[: self.chunks]
        launch(("lamb.cu", "gradient_squares"), (self.chunks,), (THREADS,), grads.flat, start, length, squares)
        numbers = self.chunks, float(unscale), float(limit)
        launch(("lamb.cu", "gradient_scale"), (1,), (THREADS,), squares, *numbers, self.norm, self.scale)
        return self.norm, self.scale

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None, half=None):
        """Take the step of Lamb.step; `half`, a vector of bf16 or float16, becomes the new weights in 16 bits."""
        check(params, grads, moments, rate, t, scale)
        if only is not None:
            raise ConfigError("only was given, but LAMB's CUDA kernels step all tensors; use optim.Lamb itself")
        if params.shapes != self.shapes:
            raise ConfigError("these are not the tensors that this optimiser was made for")
        if scale is not self.scale:
            self.scale[...] = scale
        w, (m, v) = params.flat, (moment.flat for moment in moments)
        settings, (start, length, *_) = self.settings, self.tables
        c1, c2 = corrections(settings.betas, t) if settings.bias_correction else (1.0, 1.0)
        both = c1, c2, settings.eps, settings.weight_decay
        betas = [number for beta in settings.betas for number in (beta, 1 - beta)]
        grid, block = (self.chunks,), (THREADS,)
        launch(
            ("lamb.cu", "lamb_moments"), grid, block,
            w, grads.flat, m, v, start, length, self.squares, self.scale, *betas, *both,
        )  # fmt: skip
        storage = "f32" if half is None else STORAGE[str(half.dtype)]
        clamp = float("inf") if settings.clamp is None else float(settings.clamp)
        launch(
            ("lamb.cu", f"lamb_step_{storage}"), grid, block,
            w, half, m, v, *self.tables, self.squares, self.ratios, self.scale, *both, float(rate), clamp,
        )  # fmt: skip
        ratios = self.ratios.copy()
        return {name: ratios[i] for i, name in enumerate(params) if not exempt(name, params[name])}


def optimiser_for(optimiser, params):
    """GpuLamb for a Lamb; any other optimiser itself, because there are no kernels for it."""
    return GpuLamb(optimiser, params) if isinstance(optimiser, Lamb) else optimiser
