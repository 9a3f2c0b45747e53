"""The gradient of a batch of which each rank has its share: the bits of one process that has all of it."""

from ..model.pretraining import Totals
from .tree import TreeSum
from .workers import Gradient, add_losses


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
    own = [None if loss is None else float(loss) for loss in gradient.losses]        # NumPy's numbers pickle slowly
    tree = TreeSum(add_numbers)
    for floats, *seconds in ranks.gather((own, gradient.forward_seconds, gradient.backward_seconds)):
        tree.push(Gradient(in_the_types_of(gradient.losses, floats), None, *seconds))
    return tree.total()._replace(grads=gradient.grads)


def in_the_types_of(losses, floats):
    """A record of floats as one of losses: a sum depends on its type, float32 or float64."""
    pairs = zip(losses, floats, strict=True)
    return type(losses)(*(None if loss is None else loss.dtype.type(number) for loss, number in pairs))


def add_numbers(left, right):
    """Two Gradients without their vectors."""
    return left._replace(
        losses=add_losses(left.losses, right.losses),
        forward_seconds=left.forward_seconds + right.forward_seconds,
        backward_seconds=left.backward_seconds + right.backward_seconds,
    )
