"""The gradient of a batch, as the sum of its parts' gradients, in one fixed order.

    level 2              s0123
                       /       \\
    level 1         s01         s23              s01 = g0 + g1, ...
                   /   \\       /   \\
    level 0      g0     g1   g2     g3           the gradients of four parts

Floating-point sums depend on their order, so the order is part of what a run computes: a balanced binary tree over G
parts. Who computes which part, and when, changes no bit. A tree of G parts needs no more than log2(G) + 1 vectors at a
time, for a part is added as soon as the one beside it is there.
"""

import time
from typing import NamedTuple

from ..model.pretraining import Losses, Totals


class Sums(NamedTuple):
    """A node of the tree."""

    losses: Losses
    grads: object                                    # Params
    forward: float                                   # seconds of work
    backward: float


def tree_sum(leaves, add):
    """Two nodes of one height are added as soon as both are there; what is over at the end, from the last."""
    waiting = []
    for count, node in enumerate(leaves, 1):
        while count % 2 == 0:
            node = add(waiting.pop(), node)
            count //= 2
        waiting.append(node)
    while len(waiting) > 1:
        waiting.append(add(waiting.pop(-2), waiting.pop()))
    return waiting[0]


class Accumulator:
    """Gradients of whole batches. Its vectors stay with the crew, for the next batch."""

    def __init__(self, crew, recompute=False):
        self.crew, self.keep = crew, "inputs" if recompute else "all"

    def __call__(self, parts, stream, totals=Totals(), into=None, scale=1.0):
        """Sums over the parts, the gradient `scale` times as large; losses as they are.

        Dropout's coins are those of `stream`; `into`: gradients to add to, the result's own.
        """
        totals = over_all(parts, totals)

        def leaf(engine, part, first):
            coins = stream and stream.at(example=stream.example + first)
            return self._leaf(engine, part, coins, totals, into if first == 0 else None, scale)

        return tree_sum(self.crew.map(leaf, parts), self._add)

    def losses(self, parts, totals):
        """Without gradients, and without dropout."""
        totals = over_all(parts, totals)

        def leaf(engine, part, first):
            return engine.forward(part, None, totals, keep="nothing")

        return tree_sum(self.crew.map(leaf, parts), add_losses)

    def give_back(self, sums):
        self.crew.spare.append(sums.grads)

    def _leaf(self, engine, part, stream, totals, into, scale):
        grads = self._zeros() if into is None else into
        start = time.perf_counter()
        losses = engine.forward(part.to(self.crew.params.device), stream, totals, self.keep)
        middle = time.perf_counter()
        engine.backward(grads, scale)
        return Sums(losses, grads, middle - start, time.perf_counter() - middle)

    def _zeros(self):
        try:
            grads = self.crew.spare.pop()
        except IndexError:
            return self.crew.params.zeros_like()
        grads.flat.fill(0)
        return grads

    def _add(self, left, right):
        left.grads.flat += right.grads.flat
        self.give_back(right)
        return Sums(add_losses(left.losses, right.losses), left.grads, left.forward + right.forward,
                    left.backward + right.backward)  # fmt: skip


def over_all(parts, totals):
    """What losses are divided by, unless it is told: the sums over all parts."""
    if len(parts) == 1:
        return totals                                # the part finds them itself
    targets, sequences = totals
    if targets is None:
        targets = sum(float(part.mlm_weights.sum(dtype="float64")) for part in parts)
    if sequences is None:
        sequences = float(sum(len(part.sop_labels) for part in parts))
    return Totals(targets, sequences)


def add_losses(left, right):
    return Losses(*(None if a is None else a + b for a, b in zip(left, right, strict=True)))
