"""The state that a run begins with: a checkpoint's, or fresh weights."""

from pathlib import Path

from ..albert import Albert
from ..errors import TrainError
from ..optim import Moments
from . import checkpoint, run_directory, saved_steps
from .environment import differences
from .settings import DROPOUTS
from .state import RunState, on_device


def identity_of(run, spare):
    """(the run's identity, its own directory in the spare one or None). Without a checkpoint the identity is new."""
    if spare and Path(spare).exists() and not Path(spare).is_dir():
        raise TrainError(f"spare {spare} cannot be made a directory: it is a file; name another")
    name = run_directory.identity(run)
    if name and not (saved_steps.steps(run) or (spare and saved_steps.steps(Path(spare) / name))):
        name = None
    name = name or run_directory.new_identity()
    return name, Path(spare) / name if spare else None


def place_of(run, spare, step=None):
    """Where the newest checkpoint is, or that of a step: in the run, unless it is in the spare directory only."""
    there, other = saved_steps.steps(run), saved_steps.steps(spare) if spare else []
    only = step in other and step not in there if step is not None else other[-1:] > there[-1:]
    return spare if only else run


def facts_of(place, name):
    """The facts of data and environment in the newest readable checkpoint; {} if there is none."""
    return next((note["circumstances"] for note in checkpoint.newest_notes(place, name)), {})


def begin(job, facts, run, place, name, from_step=None, own_code=None):
    """Return (RunState, messages): from the newest checkpoint, or with fresh weights.

    job       see assemble.py
    facts     the environment
    place     the directory with the checkpoint: the run, or its spare one
    name      the run's identity
    """
    if not saved_steps.steps(place):
        if from_step is not None:
            raise TrainError(f"{run} has no checkpoint of step {from_step}; it has none at all")
        if left := sorted(path.name for kind in ("damaged-step-*", "step-*") for path in run.glob(kind)):
            raise TrainError(f"{run} has no whole checkpoint, but {', '.join(left)}: name another directory for a new "
                             "run, or remove those")
        return fresh_state(job, own_code), []
    settings = job.settings
    config, saved, before, messages = checkpoint.load(place, from_step, name)
    config = job.config_of(config, place)
    if saved.step > settings.training.steps:
        raise TrainError(f"steps is {settings.training.steps}; {run} has done {saved.step:,} already: more steps, an "
                         "earlier checkpoint (--from-step), or another directory")
    for fact in job.hashes:
        if before.get(fact) != facts[fact]:
            raise TrainError(f"the {fact}{job.origin} is {facts[fact]}; {run} was trained with {before.get(fact)}, and "
                             f"resumes with that only: name it with {job.option}")
    if from_step is not None:
        for directory in dict.fromkeys((run, place)):
            messages += saved_steps.put_aside(directory, from_step)
    saved = on_device(saved, settings.training.device)
    state = state_of(job, Albert(config, saved.params, **compute_of(settings, own_code)), saved)
    if not state.finished:
        messages.append(f"resuming from step {saved.step:,}{'' if place == run else f', saved in {place}'}")
    return state, messages + differences(before, facts)


def fresh_state(job, own_code=None):
    """The RunState before the first step."""
    model = job.fresh_model(compute_of(job.settings, own_code))
    saved = checkpoint.SavedState(0, 0, model.params, Moments.zeros(model.params), {})
    return state_of(job, model, saved, fresh=True)


def compute_of(settings, own_code):
    """Albert's options: kernels, precision, and a student's own pairs."""
    return settings.training.compute | ({"pairs": own_code.pairs} if own_code and own_code.pairs else {})


def state_of(job, model, saved, fresh=False):
    settings = job.settings
    return RunState(
        model, saved, fresh, steps=settings.training.steps, minutes=settings.schedule.minutes,
        precision=settings.training.precision, rules=settings.watch, pass_over=settings.watch.batches_passed_over(),
        selection=job.selection,
    )


def check_sizes(found, wanted, where):
    """Dropout may change from one training to the next; nothing else of a config may."""
    found, wanted = (vars(config.replace(**dict.fromkeys(DROPOUTS, 0.0))) for config in (found, wanted))
    for name in found:
        if found[name] != wanted[name]:
            raise TrainError(f"{name} is {wanted[name]!r}; the weights in {where} were made with {found[name]!r}")
