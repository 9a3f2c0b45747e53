"""Workers that share a batch: each slice is one worker's from beginning to end."""

import functools
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..backend import to_device
from ..capacity import cores
from ..model.pretraining import Totals, pretraining_backward, pretraining_forward
from ..params import Params
from .allocator import keep_freed_memory
from .slices import cut, cut_each
from .threads import blas_threads
from .tree import TreeSum


class Gradient(NamedTuple):
    losses: Any                                      # a record of numbers, None where there is no such loss
    grads: Params
    forward_seconds: float                           # of all workers together
    backward_seconds: float
    pieces: Any = None                               # of several ranks: what TensorShares.norm is made from


class Workers:
    """Threads for one model, and the memory they keep from batch to batch."""

    def __init__(self, model, count=0):
        """model: has config, params and pairs. count: 0 for one thread per core. A GPU shares a batch itself: one."""
        self.config, self.params, self.pairs = model.config, model.params, model.pairs
        self.count = 1 if model.params.device == "cuda" else count or cores()
        keep_freed_memory()
        self._begin()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self._pool and self._process == os.getpid():
            self._pool.shutdown(cancel_futures=True)

    def _begin(self):
        """Without threads, and with no memory. A forked process has none of its parent's threads, and begins again."""
        self._free_memory, self._free_grads = [], []
        self._pool, self._process = None, os.getpid()

    def slices(self, batch):
        """A batch as slices, each a list of parts."""
        return cut(batch, self.config.hidden_size, self.params.device == "cuda")

    def slices_of(self, batches):
        """The slices of a batch that was cut already, each as a list of parts."""
        return cut_each(batches, self.config.hidden_size, self.params.device == "cuda")

    def gradient(
        self, slices, dropout=None, totals=Totals(), into=None, scale=1.0, recompute=False, weights=(1.0, 1.0)
    ):
        """The losses of a batch given in slices of parts, and `scale` times their gradient.

        dropout    a DropoutKey, or None to drop nothing; each part's masks are those of its place in the batch
        totals     what the losses are divided by; if not given, the sums over all slices
        into       Params to add to; they become the result's
        recompute  keep only the layers' inputs, or that of every k-th, and run forward again in backward
        """
        totals = totals_of([part.batch for parts in slices for part in parts], totals)

        def pass_of(number, parts):
            grads, losses, forward, backward = self.gradients(number, into), None, 0.0, 0.0
            for part in parts:
                start = time.perf_counter()
                with self.memory() as memory:
                    batch, ctx = self.begin(part, dropout, memory)
                    found, cache = pretraining_forward(batch, ctx, totals, recompute, weights)
                    middle = time.perf_counter()
                    pretraining_backward(cache, ctx, grads, scale)
                losses = found if losses is None else add_losses(losses, found)
                forward, backward = forward + middle - start, backward + time.perf_counter() - middle
            return Gradient(losses, grads, forward, backward)

        tree = TreeSum(self._add)
        for gradient in self.run(pass_of, list(enumerate(slices))):
            tree.push(gradient)
        return tree.total()

    def sum_of(self, pass_of, slices):
        """The sum of the Gradients pass_of(*slice, grads), each of which adds to its own grads, in the tree's order."""
        tree = TreeSum(self._add)
        for gradient in self.run(lambda number, one: pass_of(*one, self.gradients(number)), list(enumerate(slices))):
            tree.push(gradient)
        return tree.total()

    def losses(self, slices, totals=Totals(), weights=(1.0, 1.0)):
        """Without gradients, and without dropout."""
        totals = totals_of([part.batch for parts in slices for part in parts], totals)

        def pass_of(part):
            with self.memory() as memory:
                batch, ctx = self.begin(part, None, memory)
                return pretraining_forward(batch, ctx, totals, recompute=True, weights=weights)[0]

        return functools.reduce(add_losses, self.each(pass_of, slices))

    def begin(self, part, dropout, memory):
        """The part's batch on the model's device, and the context of its pass."""
        batch = part.batch.to(self.params.device)
        key = dropout and dropout.at(example=dropout.example + part.first)
        return batch, self.pairs.context(self.pairs, self.config, self.params, batch.attention_mask, key, memory)

    def examples(self, part):
        """Which examples of the whole batch are the part's, as an index on the model's device."""
        return part.examples if isinstance(part.examples, slice) else to_device(part.examples, self.params.device)

    def each(self, work, slices):
        """[work(part) for each part], in order."""
        def slice_of(parts):
            return [work(part) for part in parts]

        return [result for results in self.run(slice_of, [(parts,) for parts in slices]) for result in results]

    def gradients(self, number, into=None):
        """What slice `number` adds to: the first to `into`, if it is given, the others to zeros of their own."""
        if into is not None and number == 0:
            return into
        try:
            grads = self._free_grads.pop()
        except IndexError:
            return self.params.zeros_like()
        grads.flat.fill(0)
        return grads

    def add_gradients(self, left, right):
        left.flat += right.flat
        self.release(right)
        return left

    def release(self, grads):
        """Give a gradient's vector back, for the next one."""
        self._free_grads.append(grads)

    def run(self, work, jobs):
        """work(*job) for each job, in order; as many at a time as there are workers, each with one thread of BLAS.

        If iteration stops early, wait for running jobs.
        """
        if self._process != os.getpid():
            self._begin()
        if self.count == 1 or len(jobs) == 1:
            with blas_threads(1):
                for job in jobs:
                    yield work(*job)
            return

        def limited(*job):
            with blas_threads(1):
                return work(*job)

        self._pool, running = self._pool or ThreadPoolExecutor(self.count), deque()
        try:
            for job in jobs:
                running.append(self._pool.submit(limited, *job))
                if len(running) > self.count:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for job in running:
                job.cancel()
            wait(running)

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

    def _add(self, left, right):
        return Gradient(add_losses(left.losses, right.losses), self.add_gradients(left.grads, right.grads),
                        left.forward_seconds + right.forward_seconds,
                        left.backward_seconds + right.backward_seconds)  # fmt: skip


class SliceWorker(Workers):
    """One of several workers, for a pass over one slice: their memory, and no threads of its own."""

    def __init__(self, workers):
        self.__dict__.update(workers.__dict__, count=1)

    def slices(self, batch):
        return self.slices_of([batch])


def gradients_at_a_time(slices, workers):
    """The most vectors of gradients that there are at a time: those in the tree, and those of slices it awaits."""
    ahead = 1 if workers == 1 else workers + 1       # as `Workers.run` computes them
    return max(done.bit_count() + min(ahead, slices - done) for done in range(slices))


def totals_of(batches, totals):
    """The divisors of the losses: as given, or else the sums over all batches."""
    if len(batches) == 1:
        return totals                                # the loss finds them itself
    targets, sequences = totals
    if targets is None:
        targets = sum(float(batch.mlm_weights.sum(dtype="float64")) for batch in batches)
        targets = targets or None                    # without one the loss divides by 1
    if sequences is None:
        sequences = float(sum(len(batch.sop_labels) for batch in batches))
    return Totals(targets, sequences)


def add_losses(left, right):
    return type(left)(*(None if a is None else a + b for a, b in zip(left, right, strict=True)))
