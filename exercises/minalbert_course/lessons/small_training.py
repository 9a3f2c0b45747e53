"""What exercise 11 is marked with: the right loop, and the loop with one mistake in it."""

import numpy as np

from minalbert.model.pretraining import Totals
from minalbert.optim import AdamW, Moments, Schedule, clip_factor, global_norm

from ..makers.ex11 import small_model


def rate_of(step, steps, warmup, peak):
    return Schedule(peak, steps, warmup).rate(step)


def combined(seed, slices, weights=None, totals=Totals()):
    """Σ over slices of weight times (loss, gradient), each divided by its own counts unless `totals` says by what."""
    model, loss, gradient = small_model(seed), 0.0, 0.0
    for one, weight in zip(slices, weights or [1.0] * len(slices), strict=True):
        losses, grads = model.loss_and_grads(one, totals=totals)
        loss, gradient = loss + weight * float(losses.total), gradient + weight * grads.flat
    return np.array(loss), gradient


def mistaken(seed, slices, which):
    """What known mistakes make of the loss (which=0) or the gradient (1)."""
    targets = [float(one.mlm_weights.sum()) for one in slices]
    sequences = [float(len(one.sop_labels)) for one in slices]

    whole = Totals(sum(targets), sum(sequences))

    def found(weights, totals=Totals()):
        return lambda: np.atleast_1d(combined(seed, slices, weights, totals)[which])

    def share(counts):
        return [count / sum(counts) for count in counts]

    return {
        "the slices' means are averaged, each with the same weight: a slice of few masked words then counts as much as "
        "one of many": found([1 / len(slices)] * len(slices)),
        "the slices' means are added, each divided by its own slice's counts; divide by those of the whole batch":
            found([1.0] * len(slices)),
        "the slices are weighted by their sequences; that is right for SOP, but MLM's mean is over masked words":
            found(share(sequences)),
        "the slices are weighted by their masked words; that is right for MLM, but SOP's mean is over sequences":
            found(share(targets)),
        "it is the last slice's alone: the others' are overwritten": found([0.0] * (len(slices) - 1) + [1.0], whole),
        "it is the last slice's alone, and divided by its own counts": found([0.0] * (len(slices) - 1) + [1.0]),
    }  # fmt: skip


def curve(model, batches, rates, mistake=None):
    """Losses before each step, with the exercise's loop or with one mistake in it."""
    moments, optimiser, sums, found = Moments.zeros(model.params), AdamW(), model.params.zeros_like(), []
    for step, rate in enumerate(rates):
        batch = batches[step % len(batches)]
        losses, grads = model.loss_and_grads(batch)
        found.append(float(losses.total))
        if mistake == "kept":
            sums.flat += grads.flat
            grads = sums.copy()
        if mistake == "fresh moments":
            moments = Moments.zeros(model.params)
        norm = global_norm(grads)
        scale = 1.0 if mistake == "not clipped" else 1.0 / norm if mistake == "norm 1" else clip_factor(norm, 1.0)
        optimiser.step(model.params, grads, moments, rate, 1 if mistake == "t" else step + 1, scale)
        if mistake == "after":
            found[-1] = float(model.loss(batch).total)
    return found


MISTAKES = {
    "kept": "the gradients are not zeroed between steps: each step has those of all steps before it, too",
    "not clipped": "the gradient is not clipped to a norm of 1",
    "norm 1": "every gradient is given the norm 1; one that is shorter must stay as it is",
    "fresh moments": "the moments start from zero again at each step; make them once, before the loop",
    "t": "t stays at 1; it counts the steps, and the bias correction depends on it",
    "after": "the losses are those after each step; they must be those before it",
}


def loss_mistakes(model, batches, plan):
    """says -> the curve of that mistake; model() makes it again"""
    steps, warmup, peak = plan
    rates = [rate_of(step, *plan) for step in range(steps)]
    later = [rate_of(step + 1, *plan) for step in range(steps)]
    fall = [rate if step < warmup else peak * (steps - step) / (steps - warmup) for step, rate in enumerate(rates)]
    others = {
        "the weights did not change: is there a step, and with the rate of this step?": [0.0] * steps,
        "the rates are those of the next step: the first one's is 0": later,
        "the rates fall as if counted from the end of the warm-up; ALBERT's count from step 0": fall,
        "all steps have the peak rate": [peak] * steps,
    }
    found = {says: lambda name=name: curve(model(), batches, rates, name) for name, says in MISTAKES.items()}
    found |= {says: lambda other=other: curve(model(), batches, other) for says, other in others.items()}
    return found | {"only the first batch is used": lambda: curve(model(), batches[:1], rates)}
