"""Where a run is: all that a checkpoint holds, and all that decides how the run goes on."""

from ..errors import TrainError
from ..optim import Moments
from . import checkpoint
from .gradient_step import LossScale
from .watch import SpikeWatch

SLACK = 0.05                                         # a hiccup of the machine changes no bit
ROLLBACKS = 3                                        # to one checkpoint, before giving up


class RunState:
    def __init__(self, model, saved, fresh, steps, minutes, precision, rules, pass_over):
        """
        saved, fresh     a checkpoint's SavedState, and: is it the beginning of the run?
        minutes          time limit; 0: none
        rules            of a SpikeWatch
        pass_over        ranges of batches
        """
        self.model, self.steps, self.minutes, self.precision = model, steps, minutes, precision
        self.rules, self.pass_over, self.fresh = rules, pass_over, fresh
        self.take(saved)

    def take(self, saved):
        """Go to where this state was saved."""
        if saved.params is not self.model.params:
            self.model.params.flat[...] = saved.params.flat
        self.step, self.batch_index, self.moments = saved.step, saved.batch_index, saved.moments
        self.watch = SpikeWatch(self.rules, saved.extra.get("watch"))
        self.loss_scale = LossScale(self.precision, saved.extra.get("loss_scale"))
        self.reached = saved.extra.get("reached", [])            # milestones
        self.seconds = saved.extra.get("seconds", 0.0)           # of training, earlier lives included
        self.refused = saved.extra.get("refused", [])            # batches without a step
        ranges = {tuple(ends) for ends in saved.extra.get("passed_over", [])}
        ranges |= {(batches.start, batches.stop) for batches in self.pass_over}
        self.passed_over = [range(*ends) for ends in sorted(ranges)]

    def saved(self, regular=False):
        """`regular`: every run with these settings saves here, whenever it is stopped."""
        extra = {
            "regular": regular,
            "refused": list(self.refused),
            "watch": self.watch.memory,
            "reached": list(self.reached),
            "seconds": self.seconds,
            "passed_over": [[batches.start, batches.stop] for batches in self.passed_over],
        }
        if memory := self.loss_scale.memory:
            extra["loss_scale"] = memory
        return checkpoint.SavedState(self.step, self.batch_index, self.model.params, self.moments, extra)

    @property
    def time_fraction(self):
        """The share of the time that is used up, if the clock is well ahead of the steps; else None."""
        used = self.seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(used, 1.0) if used >= min(1.0, self.step / self.steps + SLACK) else None

    @property
    def finished(self):
        return self.step >= self.steps or (self.time_fraction or 0.0) >= 1


class Checkpoints:
    """Those of one run: when they are saved, and which one to go back to."""

    def __init__(self, run, state, environment, every, keep):
        self.run, self.state, self.environment, self.every, self.keep = run, state, environment, every, keep
        self.saved = None if state.fresh else state.step         # the step of the last one
        self.rollbacks = []

    def save(self, regular=False):
        needed = () if regular else self.regular()[-1:]          # to go back to
        state = self.state
        checkpoint.save(self.run, state.model.config, state.saved(regular), self.environment, self.keep, needed)
        self.saved = state.step

    def regular(self):
        """Steps of the checkpoints that this run has whenever it was stopped."""
        return [step for step in checkpoint.steps(self.run) if checkpoint.extra(self.run, step).get("regular")]

    def roll_back(self, rate):
        """Go back to the newest of those, and pass over the batches since then. Returns (step, range of batches)."""
        state, regular = self.state, self.regular()
        if not regular:
            raise TrainError(f"{self.run} has no checkpoint to go back to: none could be saved")
        step, last = regular[-1], state.batch_index
        self.rollbacks.append(step)
        if self.rollbacks.count(step) > ROLLBACKS:
            raise TrainError(f"{self.run} went back to step {step} {ROLLBACKS} times and came no further; a smaller "
                             f"rate than {rate:g} may help: the steps before are safe")
        _, saved, _, _ = checkpoint.load(self.run, step)
        batches, earlier, refused = range(saved.batch_index, last), state.passed_over, state.refused
        state.take(on_device(saved, state.model.params.device))
        state.passed_over, state.refused, state.batch_index = [*earlier, batches], refused, last
        self.saved = step
        checkpoint.remove_after(self.run, step)      # they are of a way that was given up
        return step, batches


def on_device(saved, device):
    moments = Moments(*(moment.to(device) for moment in saved.moments))
    return saved._replace(params=saved.params.to(device), moments=moments)
