"""`optim.AdamW` and `optim.Lamb` a weight at a time, over several threads; `optim` has the formulas.

    AdamW   one walk: m, v, u, w                                       7 vectors read or written
    LAMB    one walk: m, v, Σ w², Σ u²; then another: u again, w       10 vectors

u is computed twice, because writing it and reading it again takes longer. A walk goes over chunks of at most 4096
weights, each of one tensor alone, and each thread has a range of them. A chunk's numbers depend on the chunk alone, and
a tensor's sums of squares are added in the order of its chunks, so that no bit depends on the number of threads.

w, g, m, v: the whole vectors   start, stop, decay, rates: (chunks,)   squares: (chunks, 2)
numbers: scale, β₁, 1 - β₁, β₂, 1 - β₂, c₁, c₂, ε
"""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from ...capacity import cores
from ...errors import ConfigError
from ...optim import AdamW, Lamb
from ...optim.adamw import corrections
from ...optim.blocks import check, chosen, exempt
from .loops import CONTRACT, IN_ANY_ORDER, OPTIONS, loops

CHUNK = 4096
WORTH_A_THREAD = 2**18                               # weights: a tenth of a millisecond


class Chunks(NamedTuple):
    names: list                                      # of the tensors
    adapted: np.ndarray                              # (tensors,) with decay, and LAMB's ratio?
    first: np.ndarray                                # (tensors,) a tensor's first chunk
    count: np.ndarray                                # (tensors,) how many it has
    start: np.ndarray                                # (chunks,)
    stop: np.ndarray                                 # (chunks,)


def chunks_of(params, only=None):
    """The chunks of all tensors, or of those named in `only`."""
    ends = np.cumsum([0, *(tensor.size for tensor in params.values())])
    places = dict(zip(params, pairwise(ends), strict=True))
    names = list(params) if only is None else chosen(params, only)
    starts = [np.arange(*places[name], CHUNK) for name in names]
    stops = [np.minimum(start + CHUNK, places[name][1]) for name, start in zip(names, starts, strict=True)]
    count, adapted = [len(start) for start in starts], [not exempt(name, params[name]) for name in names]
    first = np.cumsum([0, *count])[:-1]
    return Chunks(names, np.array(adapted, bool), first, np.array(count, int), *map(joined, (starts, stops)))


def joined(tables):
    return np.concatenate([np.empty(0, np.int64), *tables])


class Compiled:
    """What both optimisers share. `step` has the arguments, results and refusals of their twins in `optim`."""

    def __init__(self, settings, params, threads=0):
        """settings: an `optim.AdamW` or `optim.Lamb`. threads: 0 for one per core, at most."""
        if params.dtype not in (np.float32, np.float64) or params.device != "cpu":
            raise ConfigError(f"compiled loops need float32 or float64 weights on the CPU; these are {params!r}")
        self.settings, self.shapes, self.chunks = settings, params.shapes, chunks_of(params)
        self.threads = threads or cores()

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None):
        check(params, grads, moments, rate, t, scale)
        if params.shapes != self.shapes:
            raise ConfigError("these are not the tensors that this optimiser was made for")
        chunks = self.chunks if only is None else chunks_of(params, only)
        (beta1, beta2), real = self.settings.betas, params.dtype.type
        c1, c2 = corrections(self.settings.betas, t) if self.settings.bias_correction else (1.0, 1.0)
        numbers = scale, beta1, 1 - beta1, beta2, 1 - beta2, c1, c2, self.settings.eps
        vectors = params.flat, grads.flat, moments.m.flat, moments.v.flat
        decay = np.repeat(np.where(chunks.adapted, real(self.settings.weight_decay), real(0)), chunks.count)
        return self.walk(chunks, vectors, decay, tuple(map(real, numbers)), float(rate))

    def share(self, loop, chunks, *arguments):
        """Call loop(..., first, last) for ranges of chunks, one range in each thread."""
        weights = int((chunks.stop - chunks.start).sum())
        threads = max(1, min(self.threads, weights // WORTH_A_THREAD))
        ranges = list(pairwise(len(chunks.start) * i // threads for i in range(threads + 1)))
        others = [pool(threads - 1, os.getpid()).submit(loop, *arguments, *part) for part in ranges[1:]]
        loop(*arguments, *ranges[0])
        for other in others:
            other.result()


@functools.cache
def pool(threads, process):                          # a forked process has none of its parent's threads
    return ThreadPoolExecutor(threads)


class CompiledAdamW(Compiled):
    def walk(self, chunks, vectors, decay, numbers, rate):
        rate = decay.dtype.type(rate)
        self.share(adamw_step, chunks, *vectors, chunks.start, chunks.stop, decay, numbers, rate)
        return {}


class CompiledLamb(Compiled):
    def walk(self, chunks, vectors, decay, numbers, rate):
        squares = np.empty((len(decay), 2))
        self.share(lamb_moments, chunks, *vectors, chunks.start, chunks.stop, decay, numbers, squares)
        norms = np.sqrt(np.add.reduceat(squares, chunks.first, axis=0))          # (tensors, 2)
        ratios = np.where(chunks.adapted, self.settings.ratio(*norms.T), 1.0)
        rates = np.repeat((rate * ratios).astype(decay.dtype), chunks.count)
        self.share(lamb_step, chunks, *vectors, chunks.start, chunks.stop, decay, numbers, rates)
        return {name: ratios[i] for i, name in enumerate(chunks.names) if chunks.adapted[i]}


def optimiser_for(optimiser, params, threads=0):
    """The compiled twin of an AdamW or a Lamb; any other optimiser itself."""
    twins = {AdamW: CompiledAdamW, Lamb: CompiledLamb}
    return twins[type(optimiser)](optimiser, params, threads) if type(optimiser) in twins else optimiser


@njit(fastmath=CONTRACT, forceinline=True, **OPTIONS)
def direction(w, m, v, decay, c1, c2, eps):
    return m * c1 / (np.sqrt(v) * c2 + eps) + decay * w


@loops()
def adamw_step(w, g, m, v, start, stop, decay, numbers, rate, first, last):
    scale, beta1, rest1, beta2, rest2, c1, c2, eps = numbers
    for i in range(first, last):
        chunk = slice(start[i], stop[i])
        ws, gs, ms, vs = w[chunk], g[chunk], m[chunk], v[chunk]
        for j in range(len(ws)):
            x = gs[j] * scale
            ms[j] = beta1 * ms[j] + rest1 * x
            vs[j] = beta2 * vs[j] + rest2 * (x * x)
            ws[j] -= rate * direction(ws[j], ms[j], vs[j], decay[i], c1, c2, eps)


@loops(fastmath=IN_ANY_ORDER)
def lamb_moments(w, g, m, v, start, stop, decay, numbers, squares, first, last):
    """squares: Σ w² and Σ u² of each chunk, in float64"""
    scale, beta1, rest1, beta2, rest2, c1, c2, eps = numbers
    for i in range(first, last):
        chunk, of_w, of_u = slice(start[i], stop[i]), 0.0, 0.0
        ws, gs, ms, vs = w[chunk], g[chunk], m[chunk], v[chunk]
        for j in range(len(ws)):
            x = gs[j] * scale
            ms[j] = beta1 * ms[j] + rest1 * x
            vs[j] = beta2 * vs[j] + rest2 * (x * x)
            wide_w, wide_u = np.float64(ws[j]), np.float64(direction(ws[j], ms[j], vs[j], decay[i], c1, c2, eps))
            of_w += wide_w * wide_w
            of_u += wide_u * wide_u
        squares[i, 0], squares[i, 1] = of_w, of_u


@loops()
def lamb_step(w, g, m, v, start, stop, decay, numbers, rates, first, last):
    c1, c2, eps = numbers[5:]
    for i in range(first, last):
        chunk = slice(start[i], stop[i])
        ws, ms, vs = w[chunk], m[chunk], v[chunk]
        for j in range(len(ws)):
            ws[j] -= rates[i] * direction(ws[j], ms[j], vs[j], decay[i], c1, c2, eps)
