"""One step of training: the gradient of a batch, its norm, what is wrong with it, and the optimiser's step.

float16 has 11 bits like TF32, but nothing between 0 and 6e-8, where gradients of ALBERT have many of their numbers.
So backward starts from `scale` instead of 1, and the optimiser divides by it again; weights, their gradients and
moments are float32. The product must not leave float16 at the other end either, at 65504:

    a gradient that is not finite        no step with it, and half the scale
    2000 finite ones in a row            twice the scale

A loss that is not finite is another matter: no scale is to blame for that, nor if the scale has come down to 1.
With other precisions the scale is 1 and stays 1.
"""

import math
import time
from typing import Any, NamedTuple

from ..optim import clip_factor
from ..parallel import ALONE, UNSHARED
from .watch import Verdict, locate_nonfinite

FIRST = 2.0**16
GOOD = 2000


class StepResult(NamedTuple):
    losses: dict                                     # before the step, by the names of metrics.jsonl
    norm: float                                      # of the whole gradient, before it is clipped
    verdict: Verdict                                 # was the step refused, and why?
    ratios: Any                                      # trust ratio by tensor; None without LAMB, or without a step
    seconds: dict                                    # forward, backward, optimiser


def gradient_step(
    state, batches, dropout, rate, judge, gradient_of, release, optimiser, norm_of=UNSHARED.norm, clip=0.0, ranks=ALONE,
    only=None,
):
    """Compute the gradient of a batch, which comes in micro-batches, and make a step with it unless it is refused.

    judge(loss, norm) -> Verdict, of a gradient that does not overflow. The caller counts state.step and batch_index.
    gradient_of(batches, dropout, scale) -> Gradient, of the batch's loss times scale; its losses as they are
    release(grads)     takes the gradient's vector back
    norm_of(gradient)  of all tensors, of which another rank may have the sum over ranks
    only               the names of the weights to change; None: all
    """
    begin, scale = time.perf_counter(), state.loss_scale.value
    gradient = gradient_of(batches, dropout, scale)
    norm = norm_of(gradient) / scale
    losses, length, ratios = gradient.losses.numbers(), float(norm), None    # which waits for a GPU
    computed = time.perf_counter()
    if state.loss_scale.overflowed(losses["loss"], length):
        verdict = Verdict(True, "overflow", "the gradient is beyond float16; from now on it is "
                                            f"{state.loss_scale.value:g} times its size")
    else:
        verdict = judge(losses["loss"], length)
    if verdict.event == "not finite":
        with state.whole_model():
            where = locate_nonfinite(state.model, batches, state.shares.own(gradient.grads), ranks)
        verdict = verdict._replace(text=f"{verdict.text}; {where}")
    if not verdict.refused:
        factor = clip_factor(norm, clip) / scale
        ratios = optimiser.step(state.model.params, gradient.grads, state.moments, rate, state.step + 1, factor, only)
    release(gradient.grads)
    share = gradient.forward_seconds / (gradient.forward_seconds + gradient.backward_seconds)     # all workers together
    seconds = {"forward": share * (computed - begin), "backward": (1 - share) * (computed - begin),
               "optimiser": time.perf_counter() - computed}
    return StepResult(losses, length, verdict, ratios, seconds)


class LossScale:
    def __init__(self, precision, memory=None):
        self.needed = precision == "float16"
        self.value, self.good = (memory or (FIRST, 0)) if self.needed else (1.0, 0)

    @property
    def memory(self):
        """All that its decisions depend on, for the checkpoint; None if there is nothing to remember."""
        return [self.value, self.good] if self.needed else None

    def overflowed(self, loss, norm):
        """Was this gradient too large for float16? Changes the scale, whatever the answer."""
        if not self.needed or not math.isfinite(loss):
            return False
        if not math.isfinite(norm) and self.value > 1.0:
            self.value, self.good = self.value / 2, 0
            return True
        self.good = self.good + 1 if math.isfinite(norm) else 0
        if self.good == GOOD:
            self.value, self.good = 2 * self.value, 0
        return False
