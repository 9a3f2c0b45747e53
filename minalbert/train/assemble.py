"""From settings to a run. Here settings end: what is assembled receives objects and plain values.

    result = train_run(Pretraining, settings, "runs/first")  # the same call resumes where an earlier one was stopped

    model, moments, place in the data     RunState, from a checkpoint or fresh
    gradient, norm, optimiser             gradient_step, with its workers
    what is written and shown             Records, with an observer
    what a kill leaves                    Checkpoints

What only one kind of run has is its job: pretraining.py has one, tasks/finetuning.py another. A job is

    job = open_job(settings, run, noted, ranks)      # noted: the facts of the newest checkpoint; none: it is fresh
    job.settings                                     # with what the data decides, such as vocab_size
    job.tokenizer, job.hashes                        # hashes: {name: text} of all data, which must stay the same
    job.origin, job.option                           # where the data is named, for the sentence that it differs
    job.fresh_model(compute)                         # the model before the first step
    job.config_of(found, where)                      # the model's config, from that of a checkpoint
    job.batches(index)                               # the batches from this one on, without end: this rank's share
    job.gradient_of(workers, shares)                 # gradient_of(micro-batches, dropout, scale) -> a batch's Gradient
    job.learning(params)                             # the names of the weights that a step changes; None: all
    job.test                                         # test(model) -> scores; see Records
    job.selection                                    # (metric, tests to wait for a better one), or () if all are alike
    job.size, job.noun, job.sentences()              # how much it reads of what, and what else to say at the start
    job.config_json(best)                            # entries of a checkpoint's config.json besides the model's;
                                                     # best: the best step's scores, or None
"""

import functools
from contextlib import ExitStack, closing

from ..arguments import like, of_kind, path_of, whole
from ..errors import ConfigError, TrainError
from ..fused import optimiser_for
from ..optim import rate_warning
from ..parallel import ALONE, SharedStep, Workers, blas_threads
from ..split import norm_over, optimiser_over
from . import checkpoint, run_directory
from .begin import begin
from .environment import environment
from .gradient_step import gradient_step
from .log import Metrics, first_evaluation
from .loop import Trainer
from .process import StopSignals
from .records import Observer, Records
from .state import Checkpoints
from .tensorboard import Board
from .together import NoMetrics, QuietObserver, begin_together, form_groups, open_place, open_together, workers_for
from .watch import without_numpy_warnings

SMALL = 128                                          # H, up to which models bear far larger rates than LAMB's rule
KERNELS = {
    "plain": "plain kernels: the files that you read; --kernels fused is faster, in less memory",
    "fused": "fused kernels; --kernels plain runs the files that you read, line by line",
    "compiled": "compiled kernels: fused, with numba's loops; --kernels plain runs the files that you read",
}


def train_run(open_job, settings, run, observer=None, from_step=None, own_code=None, ranks=ALONE):
    """Train until the last step, or until a signal asks to stop. Returns a RunResult.

    observer           hears what the run reports (records.Observer); if none is given, nothing is shown
    from_step          resume from this checkpoint, and put later ones aside
    own_code           a student's functions: an object with .pairs, .optimiser(lamb), .facts, .keep(folder)
    ranks              the processes that train together (parallel.world()); rank 0 alone writes and reports
    """
    run, settings, observer = path_of("run", run, TrainError), with_own_code(settings, own_code), observer_of(observer)
    if from_step is not None:
        whole("from_step", from_step, error=TrainError)
    like("ranks", ranks, "parallel.ALONE or parallel.world()", "rank", "from_first")
    observer, known = QuietObserver(observer) if ranks.rank else observer, ranks.from_first(run.exists)
    for message in form_groups(settings, ranks):
        observer.message(message)
    facts = environment(settings.training.device) | (own_code.facts if own_code else {})
    if not known:                                    # what is refused here leaves no directory
        job = open_together(ranks, open_job, settings, run, {}, facts)
    with StopSignals(observer.alert) as stop, blas_threads(1), without_numpy_warnings(), ExitStack() as held:
        place = ranks.from_first(lambda: open_place(held, run, settings, from_step))
        if known:
            job = open_together(ranks, open_job, settings, run, place.noted, facts)
        settings, facts = job.settings, facts | job.hashes
        messages = ranks.from_first(lambda: run_directory.changes(run, settings, place.newest, from_step))
        state, resumed = begin_together(
            ranks, lambda: begin(job, facts, run, place.newest, place.name, from_step, own_code), job, own_code
        )
        state.divide(ranks.model_group, ranks.data_group)
        origin = {"run": place.name, "settings": settings.tables()}
        records = held.enter_context(closing(make_records(job, run, state, observer, origin, place, ranks)))
        workers = held.enter_context(Workers(state.model, workers_for(settings, ranks)))
        trainer = Trainer(
            state, job.batches, step_of(job, workers, state, own_code, ranks),
            settings.make_schedule(), settings.training.seed, records,
            Checkpoints(run, state, facts, settings.checkpoints.every, settings.checkpoints.keep, origin, place.spare,
                        observer.alert, job.config_json),
            settings.records.evaluate_every, ranks,
        )
        messages += ranks.from_first(lambda: keep(job, run, place, state, own_code))
        introduce(job, run, state, records, own_code, [*resumed, *messages])
        if state.fresh:
            start(settings, trainer, place.name)
        return trainer.train(stop)


def keep(job, run, place, state, own_code):
    """Write down what the run is. Returns messages."""
    messages = run_directory.keep(run, place.name, job.settings, job.tokenizer, resumed=not state.fresh)
    if own_code:
        own_code.keep(run / "code")
    return messages


def with_own_code(settings, own_code):
    """The settings of a model that calls a student's functions, which the plain kernels alone do."""
    if own_code is not None:
        like("own_code", own_code, "an object with .pairs, .optimiser(lamb), .facts and .keep(folder)", "pairs")
    if settings.training.code and own_code is None:
        raise ConfigError(f"code is {settings.training.code!r}; these functions must be given as own_code, which "
                          "`minalbert pretrain --with` does")
    return settings.change(kernels="plain") if own_code else settings


def observer_of(observer):
    """The observer that is given, or one that shows nothing."""
    return Observer() if observer is None else of_kind("observer", observer, Observer)


def step_of(job, workers, state, own_code=None, ranks=ALONE):
    """gradient_step with all of its arguments that stay the same through a run."""
    settings, optimiser, params, shares = job.settings, job.settings.make_optimiser(), state.model.params, state.shares
    if own_code and settings.optimiser.optimiser == "lamb":
        optimiser = own_code.optimiser(optimiser) or optimiser
    else:
        optimiser = optimiser_for(optimiser, shares.own(params), settings.training.kernels, workers.count)
    norm_of, group = shares.norm, ranks.model_group
    if group.size > 1:
        optimiser = optimiser_over(group, optimiser)

        def norm_of(gradient):
            return norm_over(group, shares.squares(gradient.grads))

    if shares.ranks.size > 1:
        optimiser = SharedStep(optimiser, shares)
    return functools.partial(gradient_step, gradient_of=job.gradient_of(workers, shares), release=workers.release,
                             optimiser=optimiser, norm_of=norm_of, clip=settings.optimiser.clip, ranks=ranks,
                             only=job.learning(params))


def make_records(job, run, state, observer, origin, place, ranks):
    settings, test = job.settings, job.test
    if ranks.rank:
        return Records(NoMetrics(), observer, state, test, settings.records.log_every)
    written = {} if state.fresh else checkpoint.note_of(place.newest, state.step).get("log")
    board = Board(run, state.step, observer.alert) if settings.records.tensorboard else None
    metrics = Metrics(run, state.batch_index, state.fresh, board, observer.alert, origin["run"], written)
    return Records(metrics, observer, state, test, settings.records.log_every, first_evaluation(run, test.scores))


def introduce(job, run, state, records, own_code, messages):
    """Report what begins here, or resumes."""
    for line in introduction(job, run, state):
        records.observer.message(line)
    if own_code:
        records.event("your code", f"your own code: {own_code}")
    for message in [*messages, *records.metrics.broken]:
        if state.finished:                           # its log is left as it is
            records.observer.message(message)
        else:
            records.event("resumed", message)


def introduction(job, run, state):
    if state.finished:
        yield f"{run} is finished: {state.step:,} steps, {state.seconds:.0f} s of training"
        return
    config, settings, training = state.model.config, job.settings, job.settings.training
    reads = training.steps * training.batch
    share = f"{reads / job.size:.1f} times {job.size:,}" if reads >= job.size else f"{reads:,} of {job.size:,}"
    yield (f"{state.weights:,} weights, {config.num_hidden_layers} layers, sharing {config.sharing}; "
           f"{settings.optimiser.optimiser}, rate {settings.peak_rate:g}; "
           f"{training.steps:,} steps of {training.batch}, {share} {job.noun}")
    if not training.code:
        yield KERNELS[training.kernels]
    yield from job.sentences()


def start(settings, trainer, name):
    """Write down what a fresh run is, test it, and save it: step 0."""
    records, batch, model = trainer.records, settings.training.batch, trainer.state.model
    records.write("start", run=name, parameters=trainer.state.weights, batch=batch, **records.test.baselines._asdict())
    warning = rate_warning(settings.peak_rate, batch)
    if warning and settings.optimiser.optimiser == "lamb" and model.config.hidden_size > SMALL:
        records.event("warning", warning)
    records.evaluate()
    trainer.save(regular=True)
