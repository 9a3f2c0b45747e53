"""The gradient of a batch of which each rank has its share: the bits of one process that has all of it.

Each rank receives the gradient of its own tensors alone, which is all that it steps with (tensor_shares.py).
"""

import numpy as np

from ..model.pretraining import Totals
from .workers import Gradient


def gradient_over(shares, workers, slices, dropout=None, scale=1.0, recompute=False):
    """The whole batch's Gradient, as `sum_gradients` has it.

    shares: TensorShares   slices: this rank's   others: those of `Workers.gradient`
    """
    ranks = shares.ranks
    if ranks.size == 1:
        return workers.gradient(slices, dropout, scale=scale, recompute=recompute)
    examples = sum(len(part.batch.sop_labels) for parts in slices for part in parts)
    own_key = dropout and dropout.at(example=ranks.rank * examples)
    totals = totals_over(ranks, [part.batch for parts in slices for part in parts])
    return sum_gradients(shares, workers.gradient(slices, own_key, totals, scale=scale, recompute=recompute))


def totals_over(ranks, batches):
    """The divisors of the losses: sums over all ranks. They are whole numbers, so their order has no effect."""
    targets = sum(float(batch.mlm_weights.sum(dtype="float64")) for batch in batches)
    known = ranks.gather((targets, sum(len(batch.sop_labels) for batch in batches)))
    targets, sequences = map(sum, zip(*known, strict=True))
    return Totals(targets or None, float(sequences))


def sum_gradients(shares, gradient):
    """The sum of all ranks' Gradients; that of the vectors is in this rank's own tensors alone."""
    if shares.ranks.size == 1:
        return gradient                              # its losses stay on their device
    there = [loss for loss in gradient.losses if loss is not None]
    seconds = gradient.forward_seconds, gradient.backward_seconds
    numbers = np.array([*map(float, there), *seconds], there[0].dtype)
    numbers, pieces = shares.add(gradient.grads, numbers)
    losses = iter(numbers)
    losses = type(gradient.losses)(*(None if loss is None else next(losses) for loss in gradient.losses))
    return Gradient(losses, gradient.grads, *map(float, numbers[-2:]), pieces)
