"""The gradient of a batch of which each rank has its share: the bits of one process that has all of it."""

from ..model.pretraining import Totals
from .tree import TreeSum
from .workers import add_losses


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
    """The sum of all ranks' Gradients, in this one's vector."""
    ranks.add(gradient.grads.flat)
    tree = TreeSum(add_numbers)
    for numbers in ranks.gather(gradient._replace(grads=None)):
        tree.push(numbers)
    return tree.total()._replace(grads=gradient.grads)


def add_numbers(left, right):
    """Two Gradients without their vectors."""
    return left._replace(
        losses=add_losses(left.losses, right.losses),
        forward_seconds=left.forward_seconds + right.forward_seconds,
        backward_seconds=left.backward_seconds + right.backward_seconds,
    )
