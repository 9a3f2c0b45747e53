"""The loop: a batch, its gradient, a step; now and then a test and a checkpoint.

    outcome = pretrain(settings, "runs/first")       # the same call goes on where an earlier one was stopped

What a run computes is a function of its settings and its data (and of the clock, where it has a time limit and the
steps are too slow for it). It may be stopped and killed at any time: the newest checkpoint is all that decides how it
goes on, to the last bit.
"""

import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from ..backend import DropoutKey, check_device
from ..errors import TrainError
from ..fast.accumulate import Accumulator
from ..fast.crew import Crew
from ..fast.precision import optimiser_for
from ..fast.threads import blas_threads
from ..optim import clip_factor, global_norm, rate_warning
from . import checkpoint, run_directory
from .circumstances import circumstances
from .evaluate import evaluate
from .lock import lock
from .prepare import prepare
from .records import Records
from .report import introduction, time_is_up
from .signals import StopSignals
from .standing import begin, on_device
from .stream import micro_batches
from .watch import Verdict, hunt

SMALL = 128                                          # H, up to which models bear far larger rates than LAMB's rule
ROLLBACKS = 3                                        # to one checkpoint, before giving up


class Outcome(NamedTuple):
    model: Any
    directory: str
    step: int
    code: int                                        # 0: finished, else that of the signal that stopped it
    before: object                                   # the run's first evaluation
    after: object                                    # of its last step; None where it was stopped at another
    baselines: object
    seconds: float                                   # of training, earlier lives included
    spent: dict                                      # seconds of this life: data, forward, backward, optimiser, rest


def pretrain(settings, run, corpus=None, held_out=None, quiet=False, from_step=None):
    """Train until the last step, or until a signal asks to stop."""
    run = Path(run)
    check_device(settings.training.device)
    run_directory.make(run)
    one_each = blas_threads(1 if settings.parts > 1 else None)
    with lock(run), StopSignals() as stop, one_each, code_of(settings) as yours:
        checkpoint.clear_leftovers(run)
        prepared = prepare(settings, corpus, held_out)
        settings = settings.change(vocab_size=prepared.config.vocab_size)
        changes = run_directory.changes(run, settings)
        with Trainer(run, settings, prepared, quiet, from_step, yours) as trainer:
            run_directory.keep(run, settings, prepared.tokenizer)
            if yours:
                yours.keep(run / "code")
            trainer.introduce(changes)
            return trainer.train(stop)


def code_of(settings):
    """What functions of whose code the model runs with while this lasts: None for the library's own."""
    from minalbert_course.your_code import your_code

    files = settings.training.code
    return your_code(files.split(os.pathsep)) if files else nullcontext()


class Trainer:
    def __init__(self, run, settings, prepared, quiet=False, from_step=None, yours=None):
        self.run, self.settings, self.prepared, self.yours = run, settings, prepared, yours
        self.circumstances = circumstances(settings.training.device) | prepared.hashes
        self.circumstances |= yours.circumstances if yours else {}
        self.standing, self.said = begin(settings, prepared, self.circumstances, run, from_step)
        self.records = Records(run, settings, self.standing, prepared, quiet)
        self.crew = Crew(self.standing.model, settings.training.workers)
        self.accumulate = Accumulator(self.crew, settings.training.recompute)
        own = yours and settings.optimiser.optimiser == "lamb" and yours.optimiser(settings.make_optimiser())
        self.optimiser = own or optimiser_for(settings.make_optimiser(), self.standing.model.params)
        self.schedule = settings.make_schedule()
        self.clocks = dict.fromkeys(("data", "forward", "backward", "optimiser", "rest"), 0.0)
        self.saved = None if self.standing.fresh else self.standing.step
        self.batches, self.rollbacks = None, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.crew.close()
        self.records.close()

    def introduce(self, changes):
        """Say what begins here, or goes on."""
        for line in introduction(self.run, self.settings, self.prepared, self.standing):
            self.records.screen.say(line)
        if self.yours:
            self.records.event("your code", f"your own code: {self.yours}")
        if not self.standing.finished:
            for sentence in [*self.said, *changes, *self.records.metrics.broken]:
                self.records.event("resumed", sentence)

    def train(self, stop):
        standing, settings = self.standing, self.settings
        if standing.fresh:
            self.start()
        done_before = standing.finished
        while not standing.finished and not stop.code:
            if not self.batch():
                continue
            if standing.step % settings.records.evaluate_every == 0 or standing.finished:
                self.timed(self.records.evaluate)
            if standing.step % settings.checkpoints.every == 0:
                self.timed(self.save_if_possible)
        if standing.finished and self.records.evaluated not in (None, standing.step):
            self.timed(self.records.evaluate)        # the clock ran out on a refused batch
        if standing.ahead == 1 and not done_before:
            self.records.event("time is up", time_is_up(settings, standing.step))
        if self.saved != standing.step:              # else it is there, from before the batches refused since
            self.timed(self.save)
        return self.outcome(stop)

    def outcome(self, stop):
        standing, after = self.standing, self.records.found
        if self.records.evaluated != standing.step:  # it is not of now
            after = evaluate(standing.model, self.prepared.held_out) if standing.finished else None
        return Outcome(
            standing.model, str(self.run), standing.step, 0 if standing.finished else stop.code, self.records.before,
            after, self.prepared.baselines, standing.seconds, dict(self.clocks),
        )  # fmt: skip

    def start(self):
        batch = self.settings.training.batch
        self.records.write(
            "start", parameters=self.standing.model.params.flat.size, batch=batch, **self.prepared.baselines._asdict()
        )
        warning = rate_warning(self.settings.peak_rate, batch)
        if warning and self.settings.optimiser.optimiser == "lamb" and self.prepared.config.hidden_size > SMALL:
            self.records.event("warning", warning)
        self.records.evaluate()
        self.save(regular=True)

    def batch(self):
        """Take the next batch, and a step if it is a good one. Was there a step?"""
        standing, begin = self.standing, time.perf_counter()
        parts = self.next_parts()
        loaded = time.perf_counter()
        unscale, stream = 1.0 / standing.loss_scale.value, DropoutKey(self.settings.training.seed, standing.position)
        sums = self.accumulate(parts, stream, scale=standing.loss_scale.value)
        norm = global_norm(sums.grads) * unscale
        added = time.perf_counter()
        losses = sums.losses.numbers()
        verdict = self.judge(losses["loss"], float(norm))
        standing.position += 1
        if verdict.event:
            self.tell(verdict, parts, sums)
        if not verdict.refused:
            rate, ratios = self.step(sums.grads, norm, unscale)
        self.accumulate.give_back(sums)
        end = time.perf_counter()
        standing.seconds += end - begin
        self.spend(loaded - begin, added - loaded, end - added, sums)
        if verdict.refused:
            standing.refused.append(standing.position - 1)
            if standing.watch.hopeless:
                self.roll_back()
            return False
        tokens = sum(float(part.attention_mask.sum()) for part in parts) / (end - begin)
        self.records.step(losses, float(norm), rate, ratios, tokens)
        return True

    def judge(self, loss, norm):
        """A gradient too large for float16 is no fault of the run, and nothing for the watch to remember."""
        scale = self.standing.loss_scale
        if scale.overflowed(loss, norm):
            return Verdict(True, "overflow", f"the gradient is beyond float16; from now on it is {scale.value:g} times "
                                             "its size")  # fmt: skip
        return self.standing.watch.judge(loss, norm)

    def next_parts(self):
        """The next batch's micro-batches. Its number is `position`."""
        standing, G = self.standing, self.settings.parts
        while any(standing.position in batches for batches in standing.passed_over):
            standing.position += 1
            self.batches = None
        if self.batches is None:
            size = self.settings.training.micro_batch
            self.batches = micro_batches(self.prepared.instances, size, standing.position * G)
        return [next(self.batches) for _ in range(G)]

    def step(self, grads, norm, unscale):
        standing = self.standing
        rate = self.schedule.rate(standing.step, standing.ahead)
        scale = clip_factor(norm, self.settings.optimiser.clip) * unscale
        standing.step += 1
        return rate, self.optimiser.step(standing.model.params, grads, standing.moments, rate, standing.step, scale)

    def tell(self, verdict, parts, sums):
        text = f"batch {self.standing.position - 1}: {verdict.text}"
        if verdict.event == "not finite":
            text += f"; {hunt(self.standing.model, parts, sums.grads)}"
        self.records.event(verdict.event, text + ("; no step was made" if verdict.refused else ""))

    def spend(self, data, added, optimiser, sums):
        work = sums.forward + sums.backward          # of all workers together
        for name, seconds in (("data", data), ("forward", added * sums.forward / work),
                              ("backward", added * sums.backward / work), ("optimiser", optimiser)):  # fmt: skip
            self.clocks[name] += seconds

    def timed(self, call):
        begin = time.perf_counter()
        call()
        spent = time.perf_counter() - begin
        self.clocks["rest"] += spent
        self.standing.seconds += spent

    def save(self, regular=False):
        self.records.metrics.sync()
        needed = () if regular else self.regular()[-1:]          # to go back to
        checkpoint.save(
            self.run, self.standing.model.config, self.standing.state(regular), self.circumstances,
            self.settings.checkpoints.keep, needed,
        )  # fmt: skip
        self.saved = self.standing.step

    def save_if_possible(self):
        """There will be room again, perhaps, at the next checkpoint."""
        try:
            self.save(regular=True)
        except TrainError as error:
            self.records.screen.say(f"{error}; training goes on")

    def regular(self):
        """Steps of the checkpoints that this run has whenever it was stopped."""
        return [step for step in checkpoint.steps(self.run) if checkpoint.extra(self.run, step).get("regular")]

    def roll_back(self):
        """To the newest of those; the batches since then will be passed over."""
        standing, regular = self.standing, self.regular()
        if not regular:
            raise TrainError(f"{self.run} has no checkpoint to go back to: none could be saved")
        step, last = regular[-1], standing.position
        self.rollbacks.append(step)
        if self.rollbacks.count(step) > ROLLBACKS:
            raise TrainError(f"{self.run} went back to step {step} {ROLLBACKS} times and came no further; a smaller "
                             f"rate than {self.settings.peak_rate:g} may help: the steps before are safe")  # fmt: skip
        _, state, _, _ = checkpoint.load(self.run, step)
        batches, earlier, refused = range(state.position, last), standing.passed_over, standing.refused
        standing.take(on_device(state, self.settings.training.device))
        standing.passed_over, standing.refused = [*earlier, batches], refused
        standing.position, self.batches, self.saved = last, None, step
        checkpoint.remove_after(self.run, step)      # they are of a way that was given up
        self.records.event("rolled back", f"back to the checkpoint of step {step}; batches {batches.start} to "
                                          f"{batches.stop - 1} are passed over")  # fmt: skip
