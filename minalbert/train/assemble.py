"""From settings to a run. Here settings end: what is assembled receives objects and plain values.

    result = pretrain(settings, "runs/first")        # the same call resumes where an earlier one was stopped

    model, moments, place in the data     RunState, from a checkpoint or fresh
    gradient, norm, optimiser             gradient_step, with its workers
    what is written and shown             Records, with an observer
    what a kill leaves                    Checkpoints
"""

import functools
from contextlib import closing

from ..arguments import like, of_kind, path_of, whole
from ..backend import check_device
from ..data.order import batches
from ..errors import ConfigError, TrainError
from ..fused import optimiser_for
from ..optim import rate_warning
from ..parallel import Workers, blas_threads
from ..params import count
from . import checkpoint, run_directory, saved_steps
from .begin import begin, identity_of, place_of, split_of
from .environment import environment
from .evaluation import HeldOutTest
from .gradient_step import gradient_step
from .log import Metrics, first_evaluation
from .loop import Trainer
from .process import StopSignals, lock
from .records import Observer, Records
from .settings import Settings
from .state import Checkpoints
from .tensorboard import Board
from .trained import model_directory
from .training_data import prepare
from .watch import without_numpy_warnings

SMALL = 128                                          # H, up to which models bear far larger rates than LAMB's rule
FEW = 100                                            # instances, for a score in per cent
KERNELS = {
    "plain": "plain kernels: the files that you read; --kernels fused is faster, in less memory",
    "fused": "fused kernels; --kernels plain runs the files that you read, line by line",
    "compiled": "compiled kernels: fused, with numba's loops; --kernels plain runs the files that you read",
}


def pretrain(settings, run, corpus=None, held_out=None, observer=None, from_step=None, own_code=None):
    """Train until the last step, or until a signal asks to stop. Returns a RunResult.

    corpus, held_out   (corpus, tokenizer) each, instead of the directories in the settings
    observer           hears what the run reports (records.Observer); if none is given, nothing is shown
    from_step          resume from this checkpoint, and put later ones aside
    own_code           a student's functions: an object with .pairs, .optimiser(lamb), .facts, .keep(folder)
    """
    run, settings, observer = path_of("run", run, TrainError), with_own_code(settings, own_code), hearing(observer)
    if from_step is not None:
        whole("from_step", from_step, error=TrainError)
    check_device(settings.training.device)
    data = None if run.exists() else prepare(settings, corpus, held_out)     # what is refused here leaves no directory
    if settings.training.weights and not run.exists():
        model_directory(settings.training.weights)   # raises an error if there is none
    run_directory.make(run)
    with lock(run), StopSignals(observer.alert) as stop, blas_threads(1), without_numpy_warnings():
        saved_steps.clear_leftovers(run)
        name, spare = identity_of(run, settings.checkpoints.spare)
        if spare:
            saved_steps.clear_leftovers(spare)
        place = place_of(run, spare, from_step)
        data = data or prepare(settings, corpus, held_out, split_of(place, name))
        settings = settings.change(vocab_size=data.config.vocab_size)
        changes = run_directory.changes(run, settings, place, from_step)
        facts = environment(settings.training.device) | data.hashes | (own_code.facts if own_code else {})
        state, messages = begin(settings, data, facts, run, place, name, from_step, own_code)
        origin = {"run": name, "settings": settings.tables()}
        with (closing(make_records(settings, run, state, data, observer, origin, place)) as records,
              Workers(state.model, settings.training.workers) as workers):
            trainer = Trainer(
                state, batches_of(settings, data), step_of(settings, workers, state.model.params, own_code),
                settings.make_schedule(), settings.training.seed, records,
                Checkpoints(run, state, facts, settings.checkpoints.every, settings.checkpoints.keep, origin, spare,
                            observer.alert),
                settings.records.evaluate_every,
            )
            changes += run_directory.keep(run, name, settings, data.tokenizer, resumed=not state.fresh)
            if own_code:
                own_code.keep(run / "code")
            introduce(settings, run, state, data, records, own_code, [*messages, *changes])
            if state.fresh:
                start(settings, trainer, name, data)
            return trainer.train(stop)


def with_own_code(settings, own_code):
    """The settings of a model that calls a student's functions, which the plain kernels alone do."""
    of_kind("settings", settings, Settings)
    if own_code is not None:
        like("own_code", own_code, "an object with .pairs, .optimiser(lamb), .facts and .keep(folder)", "pairs")
    if settings.training.code and own_code is None:
        raise ConfigError(f"code is {settings.training.code!r}; these functions must be given as own_code, which "
                          "`minalbert pretrain --with` does")
    return settings.change(kernels="plain") if own_code else settings


def hearing(observer):
    """The observer that is given, or one that shows nothing."""
    return Observer() if observer is None else of_kind("observer", observer, Observer)


def batches_of(settings, data):
    """batches(index): the batches from this one on."""
    return functools.partial(batches, data.instances, settings.training.micro_batch, settings.slices)


def step_of(settings, workers, params, own_code=None):
    """gradient_step with all of its arguments that stay the same through a run."""
    optimiser = settings.make_optimiser()
    if own_code and settings.optimiser.optimiser == "lamb":
        optimiser = own_code.optimiser(optimiser) or optimiser
    else:
        optimiser = optimiser_for(optimiser, params, settings.training.kernels, workers.count)

    def gradient_of(micro_batches, dropout, scale):
        slices = workers.slices_of(micro_batches)
        return workers.gradient(slices, dropout, scale=scale, recompute=settings.training.recompute)

    return functools.partial(gradient_step, gradient_of=gradient_of, release=workers.release, optimiser=optimiser,
                             clip=settings.optimiser.clip)


def make_records(settings, run, state, data, observer, origin, place):
    written = {} if state.fresh else checkpoint.note_of(place, state.step).get("log")
    board = Board(run, state.step, observer.alert) if settings.records.tensorboard else None
    metrics = Metrics(run, state.batch_index, state.fresh, board, observer.alert, origin["run"], written)
    test = HeldOutTest(data.held_out, data.baselines, data.pairs)
    return Records(metrics, observer, state, test, settings.records.log_every, first_evaluation(run, test.scores))


def introduce(settings, run, state, data, records, own_code, messages):
    """Report what begins here, or resumes."""
    for line in introduction(settings, run, state, data):
        records.observer.message(line)
    if own_code:
        records.event("your code", f"your own code: {own_code}")
    for message in [*messages, *records.metrics.broken]:
        if state.finished:                           # its log is left as it is
            records.observer.message(message)
        else:
            records.event("resumed", message)


def introduction(settings, run, state, data):
    if state.finished:
        yield f"{run} is finished: {state.step:,} steps, {state.seconds:.0f} s of training"
        return
    config, training, instances = data.config, settings.training, len(data.instances)
    reads = training.steps * training.batch
    share = f"{reads / instances:.1f} times {instances:,}" if reads >= instances else f"{reads:,} of {instances:,}"
    yield (f"{count(config):,} weights, {config.num_hidden_layers} layers, sharing {config.sharing}; "
           f"{settings.optimiser.optimiser}, rate {settings.peak_rate:g}; "
           f"{training.steps:,} steps of {training.batch}, {share} instances")
    if not training.code:
        yield KERNELS[training.kernels]
    yield data.tested_on
    held_out = len(data.held_out.sop_labels)
    if held_out < FEW:
        yield f"only {held_out} held-out instances: their scores mean little; {more_of_them(settings, held_out)}"


def more_of_them(settings, held_out):
    if held_out == settings.records.evaluate_instances:
        return f"evaluate_instances is {held_out}; a larger number gives more"
    if settings.data.held_out:
        return f"more text in {settings.data.held_out} gives more"
    return "more text or --held-out-share gives more"


def start(settings, trainer, name, data):
    """Write down what a fresh run is, test it, and save it: step 0."""
    records, batch = trainer.records, settings.training.batch
    parameters = trainer.state.model.params.flat.size
    records.write("start", run=name, parameters=parameters, batch=batch, **data.baselines._asdict())
    warning = rate_warning(settings.peak_rate, batch)
    if warning and settings.optimiser.optimiser == "lamb" and data.config.hidden_size > SMALL:
        records.event("warning", warning)
    records.evaluate()
    trainer.save(regular=True)
