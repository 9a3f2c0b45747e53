"""The gradient of a batch, as the sum of its parts' gradients, in one fixed order.

    level 2              s0123
                       /       \\
    level 1         s01         s23              s01 = g0 + g1, ...
                   /   \\       /   \\
    level 0      g0     g1   g2     g3           the gradients of four micro-batches

Floating-point sums depend on their order, so the order is part of what a run computes: a balanced binary tree
over G parts, G a power of two. Who computes which part, and when, changes no bit. A tree of G parts needs no more
than log2(G) + 1 vectors at a time, for a part is added as soon as the one beside it is there.
"""

import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ..backend import Stream
from ..model.pretraining import Totals, pretraining_backward, pretraining_forward


class Sums(NamedTuple):
    """A node of the tree."""

    mlm: object
    sop: object
    grads: object                                    # Params
    forward: float                                   # seconds of work
    backward: float

    def losses(self):
        """As plain numbers, by the names of metrics.jsonl; None where the model has no head for it."""
        mlm, sop = (None if loss is None else float(loss) for loss in (self.mlm, self.sop))
        return {"loss": (mlm or 0.0) + (sop or 0.0), "mlm_loss": mlm, "sop_loss": sop}


def tree_sum(leaves, add):
    """The sum of 1, 2, 4, 8, ... leaves, pair by pair: two nodes of one height are added as soon as both are there."""
    waiting = []
    for count, node in enumerate(leaves, 1):
        while count % 2 == 0:
            node = add(waiting.pop(), node)
            count //= 2
        waiting.append(node)
    (total,) = waiting
    return total


class Accumulator:
    """Gradients of whole batches. Keeps its vectors from one to the next."""

    def __init__(self, model, workers=0, recompute=False):
        self.model, self.recompute = model, recompute
        self.workers = workers or os.cpu_count() or 1
        self._spare = []                             # vectors that nobody uses
        self._pool = ThreadPoolExecutor(self.workers) if self.workers > 1 else None

    def close(self):
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def __call__(self, parts, seed, number):
        """parts: the batch's micro-batches. Dropout's coins are those of batch `number`."""
        size = len(parts[0].sop_labels)
        totals = Totals(float(sum(part.mlm_weights.sum() for part in parts)), float(size * len(parts)))
        streams = [Stream(seed, number, example=size * place) for place in range(len(parts))]
        return tree_sum(self._leaves(parts, streams, totals), self._add)

    def give_back(self, sums):
        self._spare.append(sums.grads)

    def _leaves(self, parts, streams, totals):
        """In order, as many at a time as there are workers."""
        if self._pool is None or len(parts) == 1:
            yield from (self._leaf(part, stream, totals) for part, stream in zip(parts, streams, strict=True))
            return
        begun = deque()
        for part, stream in zip(parts, streams, strict=True):
            begun.append(self._pool.submit(self._leaf, part, stream, totals))
            if len(begun) > self.workers:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()

    def _leaf(self, part, stream, totals):
        model = self.model
        try:
            grads = self._spare.pop()
            grads.flat.fill(0)
        except IndexError:
            grads = model.params.zeros_like()
        start = time.perf_counter()
        losses, cache = pretraining_forward(
            model.params, part.to(model.params.device), model.config, stream, self.recompute, totals
        )
        middle = time.perf_counter()
        pretraining_backward(cache, grads)
        end = time.perf_counter()
        return Sums(losses.mlm, losses.sop, grads, middle - start, end - middle)

    def _add(self, left, right):
        left.grads.flat += right.grads.flat
        self._spare.append(right.grads)
        mlm, sop = (None if a is None else a + b for a, b in zip(left[:2], right[:2], strict=True))
        return Sums(mlm, sop, left.grads, left.forward + right.forward, left.backward + right.backward)
