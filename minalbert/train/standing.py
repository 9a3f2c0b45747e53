"""Where a run stands: all that a checkpoint holds, and all that decides how the run goes on."""

from ..albert import Albert
from ..errors import TrainError
from ..optim import Moments
from ..params import HEADS
from . import checkpoint
from .circumstances import differences
from .loss_scale import LossScale
from .trained import model_directory
from .watch import SpikeWatch

SLACK = 0.05                                         # a hiccup of the machine changes no bit
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")


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
        self.loss_scale = LossScale(self.settings.training.precision, state.extra.get("loss_scale"))
        self.reached = state.extra.get("reached", [])            # milestones
        self.seconds = state.extra.get("seconds", 0.0)           # of training, earlier lives included
        self.refused = state.extra.get("refused", [])            # batches that no step was made of
        ranges = {tuple(ends) for ends in state.extra.get("passed_over", [])}
        ranges |= {(batches.start, batches.stop) for batches in self.settings.watch.batches_passed_over()}
        self.passed_over = [range(*ends) for ends in sorted(ranges)]

    def state(self, regular=False):
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
        return checkpoint.State(self.step, self.position, self.model.params, self.moments, extra)

    @property
    def ahead(self):
        """The share of the time that is used up, where the clock is well ahead of the steps; else None."""
        minutes, steps = self.settings.schedule.minutes, self.settings.training.steps
        used = self.seconds / (60 * minutes) if minutes else 0.0
        return min(used, 1.0) if used >= min(1.0, self.step / steps + SLACK) else None

    @property
    def finished(self):
        return self.step >= self.settings.training.steps or (self.ahead or 0.0) >= 1


def begin(settings, prepared, circumstances, run, from_step=None):
    """(Standing, what there is to say): from the newest checkpoint, or with fresh weights."""
    if not checkpoint.steps(run):
        if from_step is not None:
            raise TrainError(f"{run} has no checkpoint of step {from_step}; it has none at all")
        if left := sorted(path.name for path in run.glob("damaged-step-*")):
            raise TrainError(f"{run} has no whole checkpoint, but {', '.join(left)}: name another directory for a new "
                             "run, or remove those")  # fmt: skip
        return Standing(*first_state(settings, prepared), fresh=True), []
    config, state, before, said = checkpoint.load(run, from_step)
    check_sizes(config, prepared.config, run)
    if state.step > settings.training.steps:
        raise TrainError(f"steps is {settings.training.steps}; {run} has done {state.step:,} already: more steps, an "
                         "earlier checkpoint (--from-step), or another directory")  # fmt: skip
    for name in prepared.hashes:
        if before.get(name) != circumstances[name]:
            raise TrainError(f"the {name} is {circumstances[name]}; {run} was trained with {before.get(name)}, and "
                             "goes on with that only")  # fmt: skip
    if from_step is not None:
        said += checkpoint.put_aside(run, from_step)
    state = on_device(state, settings.training.device)
    said += [f"going on from step {state.step:,}", *differences(before, circumstances)]
    return Standing(Albert(prepared.config, state.params, **settings.training.how), settings, state), said


def on_device(state, device):
    moments = Moments(*(moment.to(device) for moment in state.moments))
    return state._replace(params=state.params.to(device), moments=moments)


def first_state(settings, prepared):
    """(model, settings, state) before the first step."""
    training, config = settings.training, prepared.config
    if training.weights:
        model = Albert.from_pretrained(model_directory(training.weights), training.dtype, training.device)
        check_sizes(model.config, config, training.weights)
        if not {"mlm.bias", "sop.b"} & set(model.params):
            raise TrainError(f"weights {training.weights} have neither an mlm nor a sop head, so there is no loss")
        model = Albert(config, model.params, **training.how)
    else:
        heads = HEADS if settings.recipe.segments == 2 else ("mlm",)
        model = Albert.init(config, training.seed, heads, training.dtype, training.device, **training.how)
    return model, settings, checkpoint.State(0, 0, model.params, Moments.zeros(model.params), {})


def check_sizes(found, wanted, where):
    """Dropout may change from one training to the next; nothing else of a config may."""
    found, wanted = (vars(config.replace(**dict.fromkeys(DROPOUTS, 0.0))) for config in (found, wanted))
    for name in found:
        if found[name] != wanted[name]:
            raise TrainError(f"{name} is {wanted[name]!r}; the weights in {where} were made with {found[name]!r}")
