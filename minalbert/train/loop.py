"""The loop: a batch, its gradient, a step; now and then a test and a checkpoint.

What a run computes is a function of its settings and its data (and of the clock, if it has a time limit and the
steps are too slow for it). It may be stopped and killed at any time: the newest checkpoint is all that decides how it
goes on, to the last bit.
"""

import time
from typing import Any, NamedTuple

from ..backend import DropoutKey
from ..errors import TrainError
from ..parallel import ALONE
from .process import AGAIN
from .together import share_state


class RunResult(NamedTuple):
    model: Any
    directory: str
    step: int
    code: int                                        # 0: finished; 75: its end is in the spare directory; or a signal's
    before: object                                   # the run's first evaluation
    after: object                                    # of its last step; None if it was stopped at another
    baselines: object
    seconds: float                                   # of training, earlier lives included
    spent: dict                                      # seconds of this life: data, forward, backward, optimiser, rest
    best: dict | None = None                         # memory of a BestStep: step and scores


class Trainer:
    def __init__(self, state, batches, gradient_step, schedule, seed, records, checkpoints, evaluate_every,
                 ranks=ALONE):
        """
        batches(index)            the batches from this one on, without end; each is a list of slices, of this rank
        gradient_step(state, slices, dropout, rate, judge) -> StepResult
        ranks                     all make the same steps; rank 0 alone has to do with checkpoints
        """
        self.state, self.batches, self.gradient_step, self.schedule = state, batches, gradient_step, schedule
        self.seed, self.records, self.checkpoints, self.evaluate_every = seed, records, checkpoints, evaluate_every
        self.clocks = dict.fromkeys(("data", "forward", "backward", "optimiser", "rest"), 0.0)
        self.upcoming = None                         # the batches from state.batch_index on
        self.ranks, self.stop_code = ranks, 0

    def train(self, stop):
        """Train until the last step, or until stop.code is not 0. Returns a RunResult."""
        state, finished_before = self.state, self.state.finished
        if not finished_before:
            self.ranks.from_first(self.checkpoints.hold_reserve)
        while not self.over(stop):
            if not self.next_step():
                continue
            if state.step % self.evaluate_every == 0 or state.finished:
                self.timed(self.records.evaluate)
            if state.step % self.checkpoints.every == 0 or state.step == state.best.step:
                self.timed(self.save_if_possible)
        finished = state.finished
        if finished and self.records.evaluated not in (None, state.step):
            self.timed(self.records.evaluate)        # the clock ran out on a refused batch
        if state.time_fraction == 1 and not finished_before:
            self.records.event("time is up", f"the limit of {state.minutes:g} minutes ended the run at step "
                               f"{state.step:,} of {state.steps:,}; its result depends on the clock")
        with state.whole():
            self.ranks.from_first(self.end)
            return self.result(finished)

    def over(self, stop):
        """Is the run at its end, or asked to stop? All ranks agree: by rank 0's clock, and by any rank's signal."""
        known = self.ranks.gather((self.state.seconds, stop.code))
        self.state.seconds, self.stop_code = known[0][0], max(code for _, code in known)
        return self.state.finished or self.stop_code

    def end(self):
        if self.checkpoints.saved != self.state.step:    # else it is there, from before the batches refused since
            self.timed(lambda: self.checkpoints.save_at_last(self.records.metrics.sync()))
        self.checkpoints.reserve.release()

    def result(self, finished):
        state, after, test = self.state, self.records.latest, self.records.test
        if self.records.evaluated != state.step:     # it is not of now
            after = test(state.model) if finished else None
        return RunResult(
            state.model, str(self.checkpoints.run), state.step, self.code(finished),
            self.records.before, after, test.baselines, state.seconds, dict(self.clocks), state.best.memory,
        )

    def code(self, finished):
        if not finished:
            return self.stop_code
        return self.ranks.from_first(lambda: AGAIN if self.checkpoints.in_spare else 0)

    def next_step(self):
        """Take the next batch, and make a step if it is a good one. Was there a step?"""
        state, begin = self.state, time.perf_counter()
        slices, index = self.next_batch(), self.state.batch_index
        loaded = time.perf_counter()
        rate = self.schedule.rate(state.step, state.time_fraction)
        dropout = DropoutKey(self.seed, index)
        step = self.gradient_step(state, slices, dropout, rate, state.watch.judge)
        state.batch_index += 1
        if step.verdict.event:
            ending = "; no step was made" if step.verdict.refused else ""
            self.records.event(step.verdict.event, f"batch {index}: {step.verdict.text}{ending}")
        known = self.ranks.gather((time.perf_counter() - begin, sum(float(one.attention_mask.sum()) for one in slices)))
        seconds, tokens = known[0][0], sum(tokens for _, tokens in known) / self.ranks.model_group.size
        state.seconds += seconds
        for name, spent in {"data": loaded - begin, **step.seconds}.items():
            self.clocks[name] += spent
        if step.verdict.refused:
            state.refused.append(index)
            if state.watch.hopeless:
                self.roll_back()
            return False
        state.step += 1
        ratios = self.all_ratios(step.ratios) if self.records.due else {}
        self.records.step(step.losses, step.norm, rate, ratios, tokens / seconds)
        return True

    def all_ratios(self, ratios):
        """The trust ratios of all tensors, from those of each rank's own."""
        found = self.ranks.gather({name: float(ratio) for name, ratio in ratios.items()})
        return {name: ratio for known in found for name, ratio in known.items()}

    def next_batch(self):
        """The slices of batch `batch_index`, after those that are passed over."""
        state = self.state
        while over := next((batches for batches in state.passed_over if state.batch_index in batches), None):
            state.batch_index = over.stop            # not one by one: it may be any number of them
            self.upcoming = None
        if self.upcoming is None:
            self.upcoming = self.batches(state.batch_index)
        return next(self.upcoming)

    def timed(self, call):
        begin = time.perf_counter()
        call()
        spent = time.perf_counter() - begin
        self.clocks["rest"] += spent
        self.state.seconds += spent

    def save(self, regular=False):
        with self.state.whole():
            self.ranks.from_first(lambda: self.checkpoints.save(self.records.metrics.sync(), regular))

    def save_if_possible(self):
        """There will be room again, perhaps, at the next checkpoint."""
        try:
            self.save(regular=True)
        except TrainError as error:
            self.records.observer.alert(f"{error}; training goes on, to be saved at the next checkpoint")

    def roll_back(self):
        with self.state.whole():
            step, batches = self.ranks.from_first(lambda: self.checkpoints.roll_back(self.schedule.peak))
            share_state(self.ranks, self.state)
        self.upcoming = None
        self.records.event("rolled back", f"back to the checkpoint of step {step}; batches {batches.start} to "
                                          f"{batches.stop - 1} are passed over")
