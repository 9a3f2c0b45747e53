"""Where a run is: all that a checkpoint holds, and all that decides how the run goes on."""

import errno
import time
from contextlib import contextmanager, suppress

from ..albert import Albert
from ..errors import NoRoomError, TrainError
from ..optim import Moments
from ..parallel import UNSHARED, TensorShares
from ..split import model_share, share_of, whole_of
from . import checkpoint, saved_steps
from .best import BestStep
from .gradient_step import LossScale
from .reserve import Reserve, room_for
from .watch import SpikeWatch

SLACK = 0.05                                         # a hiccup of the machine changes no bit
ROLLBACKS = 3                                        # to one checkpoint, before giving up
PAUSES = 1, 2, 4, 8, 15, 30                          # seconds between tries of the last save


class RunState:
    def __init__(self, model, saved, fresh, steps, minutes, precision, rules, pass_over, selection=()):
        """
        saved, fresh     a checkpoint's SavedState, and: is it the beginning of the run?
        minutes          time limit; 0: none
        rules            of a SpikeWatch
        pass_over        ranges of batches
        selection        of the best step: the metric, and after how many tests to stop
        """
        self.model, self.steps, self.minutes, self.precision = model, steps, minutes, precision
        self.rules, self.pass_over, self.fresh, self.selection = rules, pass_over, fresh, selection
        self.weights, self.shapes = model.params.flat.size, model.params.shapes
        self.model_group, self.shares = None, UNSHARED
        self.take(saved)

    def divide(self, model_group, data_group):
        """Let the ranks of one group share the model, and those of the other the optimiser's step and its moments."""
        if model_group.size > 1:
            self.model_group = model_group
            self.model = model_share(self.model.config, self.model.params, model_group)
        self.shares = TensorShares(data_group, self.model.params, self.shapes)
        self.moments = Moments(*map(self.own_moment, self.moments))

    def own_moment(self, whole):
        """What this rank has of a moment."""
        group = self.model_group
        return self.shares.own_copy(share_of(whole, group.rank, group.size) if group else whole)

    def whole_moment(self, own):
        """A moment of all weights, on every rank."""
        found = self.shares.whole_of(own, self.model.params.shapes)
        return whole_of(found, self.shapes, self.model_group) if self.model_group else found

    @contextmanager
    def whole_model(self):
        """A context in which the model is whole on every rank, to be tested."""
        if self.model_group is None:
            yield
            return
        model, ranks = self.model, self.model_group
        self.model = Albert(model.config, whole_of(model.params, self.shapes, ranks))
        try:
            yield
        finally:
            model.params.flat[...] = share_of(self.model.params, ranks.rank, ranks.size).flat
            self.model = model

    @contextmanager
    def whole(self):
        """A context in which the model and its moments are whole on every rank, to be saved or replaced."""
        if self.model_group is None and self.shares.ranks.size == 1:
            yield
            return
        moments, self.moments = self.moments, Moments(*map(self.whole_moment, self.moments))
        with self.whole_model():
            try:
                yield
            finally:
                for own, whole in zip(moments, self.moments, strict=True):
                    own.flat[...] = self.own_moment(whole).flat
                self.moments = moments

    def take(self, saved):
        """Go to where this state was saved."""
        if saved.params is not self.model.params:
            self.model.params.flat[...] = saved.params.flat
        self.step, self.batch_index, self.moments = saved.step, saved.batch_index, saved.moments
        self.watch = SpikeWatch(self.rules, saved.extra.get("watch"))
        self.loss_scale = LossScale(self.precision, saved.extra.get("loss_scale"))
        self.best = BestStep(*self.selection, memory=saved.extra.get("best"))
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
        if memory := self.best.memory:
            extra["best"] = memory
        return checkpoint.SavedState(self.step, self.batch_index, self.model.params, self.moments, extra)

    @property
    def time_fraction(self):
        """The share of the time that is used up, if the clock is well ahead of the steps; else None."""
        used = self.seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(used, 1.0) if used >= min(1.0, self.step / self.steps + SLACK) else None

    @property
    def finished(self):
        return self.step >= self.steps or (self.time_fraction or 0.0) >= 1 or self.best.exhausted


class Checkpoints:
    """Those of one run: when they are saved, where, and which one to go back to."""

    def __init__(self, run, state, environment, every, keep, origin, spare, alert, config_json):
        """
        origin           the run's identity and settings, for each checkpoint
        spare            another directory, for the newest state where it cannot be saved in the run; or None
        alert(text)      shows a person a sentence, for instance about that
        config_json(best)  entries of config.json besides the model's; best: the best step's scores, or None
        """
        self.run, self.state, self.environment, self.every, self.keep = run, state, environment, every, keep
        self.origin, self.spare, self.alert, self.config_json = origin, spare, alert, config_json
        self.saved = state.step if state.step in saved_steps.steps(run) else None    # the step of the last one
        self.rollbacks, self.reserve = [], Reserve(run)

    def hold_reserve(self):
        """Hold room for one more checkpoint; else there must be an older one, which may make room, or a spare."""
        steps = saved_steps.steps(self.run)
        if not steps:
            return                                   # the newest is in the spare directory
        size = room_for(saved_steps.path_of(self.run, steps[-1]))
        if not (self.reserve.hold(size) or self.spare or len(steps) > 1):
            raise TrainError(f"{self.run} has no room for a second checkpoint, so that a full disk would cost what is "
                             f"trained: free {size / 1e6:,.1f} MB, or name another directory with --spare")

    def save(self, log, regular=False):
        """log: the Record of the log until now."""
        state = self.state
        needed = {*(() if regular else self.regular()[-1:]), state.best.step}    # to go back to; to use
        saved = state.saved(regular)._replace(origin=self.origin | {"log": log._asdict()})
        what = state.model.config, saved._replace(config_json=self.config_json(state.best.scores)), self.environment
        try:
            self.save_in_run(what, needed)
        except TrainError as error:
            if not self.spare:
                raise
            self.alert(f"{error}; {self.save_in_spare(what)}")
        else:
            self.forget_spare()
        self.saved = state.step

    def save_in_run(self, what, needed):
        """Save in the run, if need be in the room that it holds in reserve."""
        try:
            path = checkpoint.save(self.run, *what, self.keep, needed)
        except NoRoomError as error:
            if not self.reserve.release():
                raise
            path = checkpoint.save(self.run, *what, self.keep, needed)
            self.alert(f"{error}; it is saved as {path} now, in the room that was held in reserve: make room")
        self.reserve.hold(room_for(path))            # perhaps there is room again

    def save_in_spare(self, what):
        try:
            self.spare.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainError(f"spare {self.spare} cannot be made a directory: {error.strerror}") from error
        return f"it is saved as {checkpoint.save(self.spare, *what, keep=1)}"

    def forget_spare(self):
        """Empty the spare directory, because the run has a newer checkpoint now."""
        if self.spare and self.spare.exists():
            saved_steps.remove_after(self.spare, -1)
            with suppress(OSError):
                self.spare.rmdir()

    @property
    def in_spare(self):
        """Is the newest state in the spare directory only?"""
        return bool(self.spare and saved_steps.steps(self.spare)[-1:] == [self.saved])

    def save_at_last(self, log):
        """Save for the last time: if there is no room, remove even checkpoints that `keep` holds, then wait."""
        pauses = iter(PAUSES)
        while True:
            try:
                return self.save(log)
            except NoRoomError as error:
                too_large = getattr(error.__cause__, "errno", None) == errno.EFBIG  # room is no help
                if not too_large and (step := checkpoint.remove_oldest(self.run, {self.state.best.step})) is not None:
                    self.alert(f"{error}; that of step {step} is removed, to make room for it")
                elif pause := next(pauses, None):
                    self.alert(f"{error}; trying again in {pause:g} s, for room may be made")
                    time.sleep(pause)
                else:
                    raise NoRoomError(f"{error}, where the same command resumes; what was trained since is lost; a run "
                                      "with --spare DIRECTORY has a second place") from error

    def regular(self):
        """Steps of the checkpoints that this run has whenever it was stopped."""
        found = []
        for step in saved_steps.steps(self.run):
            note = checkpoint.note_of(self.run, step, self.origin["run"])
            if note.get("extra", {}).get("regular"):
                found.append(step)
        return found

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
        saved_steps.remove_after(self.run, step)     # they are of a way that was given up
        self.forget_spare()
        return step, batches


def on_device(saved, device):
    moments = Moments(*(moment.to(device) for moment in saved.moments))
    return saved._replace(params=saved.params.to(device), moments=moments)
