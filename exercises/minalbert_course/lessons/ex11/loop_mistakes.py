"""Exercise 11's right loop, and what known mistakes make of its losses."""

import functools

import numpy as np

from minalbert.optim import AdamW, clip_factor, global_norm
from minalbert.optim.adamw import adamw_tensor
from minalbert.optim.blocks import exempt

from ...makers.ex11 import small_model
from .training_mistakes import rate_of


def curve(model, batches, rates, mistake=None, visit=None):
    """Losses before each step, with the exercise's loop or with one mistake in it; `visit` sees weights after each."""
    weights, sums, found = model.params.flat, model.params.zeros_like(), []
    moments = fresh = (np.zeros_like(weights), np.zeros_like(weights))
    decay = 0.0 if mistake == "no decay" else decays(model.params)
    for step, rate in enumerate(rates):
        batch = batches[step % len(batches)]
        losses, grads = model.loss_and_grads(batch)
        found.append(float({"mlm": losses.mlm, "sop": losses.sop}.get(mistake, losses.total)))
        if mistake == "kept":
            sums.flat += grads.flat
            grads = sums.copy()
        if mistake == "entries":
            grads.flat[...] = np.clip(grads.flat, -1.0, 1.0)
        if mistake == "fresh moments" or (mistake == "fresh rounds" and step % len(batches) == 0):
            moments = fresh
        norm = global_norm(grads)
        if mistake == "matrices":
            norm = np.sqrt(sum(float((g * g).sum()) for g in grads.values() if g.ndim > 1))
        to_one = 1.0 / norm if norm else 1.0
        scales = {"not clipped": 1.0, "entries": 1.0, "norm 1": to_one, "up": max(1.0, to_one),
                  "half": clip_factor(norm, 0.5), "double": clip_factor(norm, 2.0), "norm": norm}  # fmt: skip
        scale = scales.get(mistake, clip_factor(norm, 1.0))
        t = {"t": 1, "late t": step + 2, "early t": max(step, 1)}.get(mistake, step + 1)
        if not (mistake == "no rest" and rate == 0):
            stepped, *moments = adamw_tensor(weights, scale * grads.flat, *moments, rate, t)
            weights[...] = stepped - rate * decay * weights
        if mistake == "after":
            found[-1] = float(model.loss(batch).total)
        if visit:
            visit(weights)
    return found


def decays(params):
    """AdamW's decay of each weight, as one vector: all tensors are stepped at once, in a fraction of the time."""
    found = params.zeros_like()
    for name, tensor in found.items():
        tensor[...] = 0.0 if exempt(name, tensor) else AdamW().weight_decay
    return found.flat


MISTAKES = {
    "kept": "the gradients are not zeroed between steps: each step has those of all steps before it, too",
    "not clipped": "the gradient is not clipped to a norm of 1",
    "norm 1": "every gradient is given the norm 1; one that is shorter must stay as it is",
    "up": "short gradients are made longer, and long ones are not clipped",
    "half": "the gradient is clipped to a norm of 1/2",
    "double": "the gradient is clipped to a norm of 2",
    "matrices": "the norm is that of the matrices alone; it must be that of all tensors together",
    "no decay": "the weights do not decay: AdamW() has the settings that are wanted",
    "norm": "the gradient is multiplied by its norm; `clip_factor` gives what it must be multiplied by",
    "entries": "each entry is clipped to 1; the norm of all together must be",
    "fresh moments": "the moments start from zero again at each step; make them once, before the loop",
    "fresh rounds": "the moments start from zero again in each round through the batches",
    "t": "t stays at 1; it counts the steps, and the bias correction depends on it",
    "late t": "t begins at 2; the first step has t = 1",
    "early t": "t is one too small; the first step has t = 1",
    "after": "the losses are those after each step; they must be those before it",
    "mlm": "these are MLM's losses alone; the total loss is asked for",
    "sop": "these are SOP's losses alone; the total loss is asked for",
    "no rest": "the step of rate 0 is left out; its gradient goes into the moments all the same",
}


@functools.lru_cache(64)
def loss_mistakes(model, batches, plan):
    """says -> what gives the curve of that mistake. model: the arguments of small_model; batches: descriptions"""
    steps, warmup, peak = plan
    rates = tuple(rate_of(step, *plan) for step in range(steps))
    others = {
        "the rates are those of the next step: the first one's is 0":
            [rate_of(step + 1, *plan) for step in range(steps)],
        "the rates fall as if counted from the end of the warm-up; ALBERT's count from step 0":
            [rate if step < warmup else peak * (steps - step) / (steps - warmup) for step, rate in enumerate(rates)],
        "the warm-up is left out": [rate_of(step, steps, 0, peak) for step in range(steps)],
        "the rates are those of a run of as many steps as there are batches":
            [rate_of(step, max(len(batches), warmup), warmup, peak) for step in range(steps)],
    }  # fmt: skip
    made = [batch.make() for batch in batches]
    found = curves(model, {says: (made, other) for says, other in others.items()})
    return slips_of_a_loop(model, batches, rates, peak) | found


@functools.lru_cache(64)
def slips_of_a_loop(model, batches, rates, peak):
    """As loss_mistakes, for any schedule."""
    steps, batches = len(rates), [batch.make() for batch in batches]
    others = {
        "the weights did not change: is there a step, and with the rate of this step?": [0.0] * steps,
        "all steps have the peak rate": [peak] * steps,
        "all steps have the rate of the first": rates[:1] * steps,
    }
    orders = {
        "only the first batch is used": batches[:1],
        "the batches are used in the opposite order": batches[::-1],
        "the batches are used in the opposite order, after the first": batches[:1] + batches[:0:-1],
        "the second batch is used first": batches[1:] + batches[:1],
        "after the last batch there is only the last": batches + batches[-1:] * steps,
    }
    found = {says: (batches, rates, name) for name, says in MISTAKES.items()}
    found |= {says: (batches, other) for says, other in others.items()}
    return curves(model, found | {says: (order, rates) for says, order in orders.items()})


def curves(model, asked):
    """says -> what gives the curve that is asked for, and computes it once for all submissions"""
    return {says: functools.cache(lambda run=run: curve(small_model(*model), *run)) for says, run in asked.items()}
