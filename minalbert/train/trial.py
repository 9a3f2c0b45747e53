"""A short training of which nothing is kept: for questions that a few steps can answer."""

import math
import time
from contextlib import ExitStack
from itertools import islice

from ..backend import DropoutKey
from ..fast.accumulate import Accumulator
from ..fast.crew import Crew
from ..fast.precision import optimiser_for
from ..fast.threads import blas_threads
from ..optim import clip_factor, global_norm
from .loss_scale import LossScale
from .prepare import prepare
from .screen import Screen
from .standing import first_state
from .stream import micro_batches


class Trial:
    """`settings` as of a run, but for the rate: each step is told its own."""

    def __init__(self, settings, steps, corpus=None, held_out=None, quiet=False):
        self.prepared = prepare(settings, corpus, held_out)
        self.settings = settings.change(vocab_size=self.prepared.config.vocab_size)
        self.model, _, state = first_state(self.settings, self.prepared)
        self.moments, self.done = state.moments, 0
        self.optimiser = optimiser_for(self.settings.make_optimiser(), self.model.params)
        self.loss_scale = LossScale(self.settings.training.precision)
        self._steps, self._quiet = steps, quiet

    def __enter__(self):
        training = self.settings.training
        with ExitStack() as stack:
            stack.enter_context(blas_threads(1 if self.settings.parts > 1 else None))
            crew = Crew(self.model, training.workers)
            stack.callback(crew.close)
            self.accumulate = Accumulator(crew, training.recompute)
            self.screen = Screen(self._steps, quiet=self._quiet)
            stack.callback(self.screen.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def batches(self):
        """As a run meets them; each is a list of micro-batches."""
        parts = micro_batches(self.prepared.instances, self.settings.training.micro_batch)
        while True:
            yield list(islice(parts, self.settings.parts))

    def step(self, batch, rate):
        """The batch's losses before the step, by the names of metrics.jsonl; the step, if all is finite."""
        training, begin = self.settings.training, time.perf_counter()
        unscale = 1.0 / self.loss_scale.value
        sums = self.accumulate(batch, DropoutKey(training.seed, self.done), scale=self.loss_scale.value)
        norm = global_norm(sums.grads) * unscale
        losses = sums.losses.numbers()
        self.done += 1
        overflowed = self.loss_scale.overflowed(losses["loss"], float(norm))
        if not (overflowed or math.isfinite(float(norm))):
            losses["loss"] = math.nan
        if math.isfinite(losses["loss"]) and not overflowed:
            scale = clip_factor(norm, self.settings.optimiser.clip) * unscale
            self.optimiser.step(self.model.params, sums.grads, self.moments, rate, self.done, scale)
        self.accumulate.give_back(sums)
        tokens = sum(float(part.attention_mask.sum()) for part in batch)
        self.screen.step(self.done, losses, tokens / (time.perf_counter() - begin))
        return losses
