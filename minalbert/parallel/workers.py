"""Workers that share a batch: each slice is one worker's from beginning to end."""

import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

from ..model.pretraining import Losses, Totals, pretraining_backward, pretraining_forward
from ..params import Params
from .slices import split
from .threads import blas_threads, threads
from .tree import TreeSum


class Gradient(NamedTuple):
    losses: Losses
    grads: Params
    forward_seconds: float                           # of all workers together
    backward_seconds: float


class Workers:
    """Threads for one model, and the memory they keep from batch to batch."""

    def __init__(self, model, count=0):
        """model: has config, params and pairs. count: 0 for one thread per core. A GPU shares a batch itself: one."""
        self.config, self.params, self.pairs = model.config, model.params, model.pairs
        self.count = 1 if model.params.device == "cuda" else count or os.cpu_count() or 1
        self._free_memory, self._free_grads = [], []
        self._pool, self._process = None, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    @contextmanager
    def slices(self, batch):
        """Slices of a batch, as many as BLAS would use threads. Meanwhile BLAS uses one in each of them."""
        slices = split(batch, min(threads(), self.count), self.config.hidden_size)
        with blas_threads(1 if len(slices) > 1 else None):
            yield slices

    def gradient(
        self, slices, dropout=None, totals=Totals(), into=None, scale=1.0, recompute=False, weights=(1.0, 1.0)
    ):
        """The losses of a batch given in slices, and `scale` times their gradient.

        dropout    a DropoutKey, or None to drop nothing; each slice's masks are those of its place in the batch
        totals     what the losses are divided by; if not given, the sums over all slices
        into       Params to add to; they become the result's
        recompute  keep only the layers' inputs, or that of every k-th, and run forward again in backward
        """
        totals = totals_of(slices, totals)

        def pass_of(batch, first):
            grads = into if into is not None and first == 0 else self._zeros()
            key = dropout and dropout.at(example=dropout.example + first)
            start = time.perf_counter()
            with self.memory() as memory:
                batch = batch.to(self.params.device)
                ctx = self.context(batch.attention_mask, key, memory)
                losses, cache = pretraining_forward(batch, ctx, totals, recompute, weights)
                middle = time.perf_counter()
                pretraining_backward(cache, ctx, grads, scale)
            return Gradient(losses, grads, middle - start, time.perf_counter() - middle)

        tree = TreeSum(self._add)
        for gradient in self.run(pass_of, placed(slices)):
            tree.push(gradient)
        return tree.total()

    def losses(self, slices, totals=Totals(), weights=(1.0, 1.0)):
        """Without gradients, and without dropout."""
        totals = totals_of(slices, totals)

        def pass_of(batch, first):
            with self.memory() as memory:
                batch = batch.to(self.params.device)
                ctx = self.context(batch.attention_mask, None, memory)
                return pretraining_forward(batch, ctx, totals, recompute=True, weights=weights)[0]

        tree = TreeSum(add_losses)
        for losses in self.run(pass_of, placed(slices)):
            tree.push(losses)
        return tree.total()

    def release(self, grads):
        """Give a gradient's vector back, for the next one."""
        self._free_grads.append(grads)

    def context(self, attention_mask, key=None, memory=None):
        return self.pairs.context(self.pairs, self.config, self.params, attention_mask, key, memory)

    def run(self, work, jobs):
        """work(*job) for each job, in order; as many at a time as there are workers.

        If iteration stops early, wait for running jobs.
        """
        if self.count == 1 or len(jobs) == 1:
            for job in jobs:
                yield work(*job)
            return
        pool, running = self._threads(), deque()
        try:
            for job in jobs:
                running.append(pool.submit(work, *job))
                if len(running) > self.count:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for job in running:
                job.cancel()
            wait(running)

    def _threads(self):
        """The pool of this process; a forked one has none of its parent's threads."""
        if self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.count), os.getpid()
        return self._pool

    @contextmanager
    def memory(self):
        """Memory for one pass, which an earlier pass may have used."""
        memory = self.take_memory()
        try:
            yield memory
        finally:
            self.free_memory(memory)

    def take_memory(self):
        try:
            return self._free_memory.pop()
        except IndexError:
            return self.pairs.memory(self.params)

    def free_memory(self, memory):
        self._free_memory.append(memory)

    def _zeros(self):
        try:
            grads = self._free_grads.pop()
        except IndexError:
            return self.params.zeros_like()
        grads.flat.fill(0)
        return grads

    def _add(self, left, right):
        left.grads.flat += right.grads.flat
        self.release(right.grads)
        return Gradient(add_losses(left.losses, right.losses), left.grads,
                        left.forward_seconds + right.forward_seconds,
                        left.backward_seconds + right.backward_seconds)  # fmt: skip


def placed(slices):
    """[(slice, the number of its first example)]"""
    firsts = accumulate((len(batch.input_ids) for batch in slices[:-1]), initial=0)
    return list(zip(slices, firsts, strict=True))


def totals_of(slices, totals):
    """What the losses are divided by where it is not given: the sums over all slices."""
    if len(slices) == 1:
        return totals                                # the loss finds them itself
    targets, sequences = totals
    if targets is None:
        targets = sum(float(batch.mlm_weights.sum(dtype="float64")) for batch in slices)
    if sequences is None:
        sequences = float(sum(len(batch.sop_labels) for batch in slices))
    return Totals(targets, sequences)


def add_losses(left, right):
    return Losses(*(None if a is None else a + b for a, b in zip(left, right, strict=True)))
