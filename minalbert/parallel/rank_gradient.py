"""The gradient of a batch of which each rank has its share: the bits of one process that has all of it."""

import numpy as np

from ..model.pretraining import Totals
from .workers import Gradient


def gradient_over(ranks, workers, slices, dropout=None, scale=1.0, recompute=False):
    """The whole batch's Gradient, on all ranks. slices: this rank's. Other arguments as those of `Workers.gradient`."""
    if ranks.size == 1:
        return workers.gradient(slices, dropout, scale=scale, recompute=recompute)
    examples = sum(len(part.batch.sop_labels) for parts in slices for part in parts)
    own_key = dropout and dropout.at(example=ranks.rank * examples)
    totals = totals_over(ranks, [part.batch for parts in slices for part in parts])
    return sum_gradients(ranks, workers.gradient(slices, own_key, totals, scale=scale, recompute=recompute))


def totals_over(ranks, batches):
    """The divisors of the losses: sums over all ranks. They are whole numbers, so their order has no effect."""
    targets = sum(float(batch.mlm_weights.sum(dtype="float64")) for batch in batches)
    known = ranks.gather((targets, sum(len(batch.sop_labels) for batch in batches)))
    targets, sequences = map(sum, zip(*known, strict=True))
    return Totals(targets or None, float(sequences))


def sum_gradients(ranks, gradient):
    """The sum of all ranks' Gradients, in this one's vector. Their numbers are a short vector, on its way with it."""
    if ranks.size == 1:
        return gradient                              # its losses stay on their device
    there = [loss for loss in gradient.losses if loss is not None]
    seconds = gradient.forward_seconds, gradient.backward_seconds
    numbers = np.array([*map(float, there), *seconds], there[0].dtype)
    ranks.add(gradient.grads.flat, numbers)
    losses = iter(numbers)
    losses = type(gradient.losses)(*(None if loss is None else next(losses) for loss in gradient.losses))
    return Gradient(losses, gradient.grads, *map(float, numbers[-2:]))
