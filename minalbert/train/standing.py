"""Where a run stands: all that a checkpoint holds, and all that decides how the run goes on."""

from ..model.albert import Albert
from ..optim import Moments
from . import checkpoint
from .circumstances import differences
from .errors import TrainError
from .watch import SpikeWatch


class Standing:
    def __init__(self, model, settings, state, fresh=False):
        self.model, self.settings, self.fresh = model, settings, fresh
        self.take(state)

    def take(self, state):
        """Stand where this state was saved."""
        if state.params is not self.model.params:
            self.model.params.flat[...] = state.params.flat
        self.step, self.position, self.moments = state.step, state.position, state.moments
        self.watch = SpikeWatch(self.settings.watch, state.extra.get("watch"))
        self.reached = state.extra.get("reached", [])            # milestones
        self.seconds = state.extra.get("seconds", 0.0)           # of training, earlier lives included
        ranges = {tuple(ends) for ends in state.extra.get("passed_over", [])}
        ranges |= {(batches.start, batches.stop) for batches in self.settings.watch.batches_passed_over()}
        self.passed_over = [range(*ends) for ends in sorted(ranges)]

    def state(self):
        extra = {
            "watch": self.watch.memory,
            "reached": list(self.reached),
            "seconds": self.seconds,
            "passed_over": [[batches.start, batches.stop] for batches in self.passed_over],
        }
        return checkpoint.State(self.step, self.position, self.model.params, self.moments, extra)

    @property
    def ahead(self):
        """The share of the time that is used up, where the clock is ahead of the steps; else None."""
        minutes, steps = self.settings.schedule.minutes, self.settings.training.steps
        used = self.seconds / (60 * minutes) if minutes else 0.0
        return used if used > self.step / steps else None

    @property
    def finished(self):
        return self.step >= self.settings.training.steps or (self.ahead or 0.0) >= 1


def begin(settings, prepared, circumstances, run, from_step=None):
    """(Standing, what there is to say): from the newest checkpoint, or with fresh weights."""
    if not checkpoint.steps(run):
        if from_step is not None:
            raise TrainError(f"{run} has no checkpoint of step {from_step}; it has none at all")
        return Standing(*first_state(settings, prepared), fresh=True), []
    config, state, before, said = checkpoint.load(run, from_step)
    if config != prepared.config:
        raise TrainError(f"{run} holds a model of other sizes than the settings say; begin a new run elsewhere")
    for name in prepared.hashes:
        if before.get(name) != circumstances[name]:
            raise TrainError(f"the {name} is {circumstances[name]}; {run} was trained with {before.get(name)}, and "
                             "goes on with that only")  # fmt: skip
    if from_step is not None:
        said += checkpoint.put_aside(run, from_step)
    state = on_device(state, settings.training.device)
    said += [f"going on from step {state.step:,}", *differences(before, circumstances)]
    return Standing(Albert(config, state.params), settings, state), said


def on_device(state, device):
    moments = Moments(*(moment.to(device) for moment in state.moments))
    return state._replace(params=state.params.to(device), moments=moments)


def first_state(settings, prepared):
    """(model, settings, state) before the first step."""
    training, config = settings.training, prepared.config
    if training.weights:
        model = Albert.from_pretrained(training.weights, training.dtype, training.device)
        if model.config != config:
            raise TrainError(f"weights {training.weights} are of a model with other sizes than [model] says")
    else:
        model = Albert.init(config, training.seed, dtype=training.dtype, device=training.device)
    return model, settings, checkpoint.State(0, 0, model.params, Moments.zeros(model.params), {})
