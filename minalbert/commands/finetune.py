"""`minalbert finetune RUN`: train a model for a task; stop it, resume it."""

import os

from ..arguments import whole
from ..errors import ConfigError
from ..tasks.dev_test import SAME
from ..tasks.finetuning import finetune
from ..tasks.settings import TaskSettings
from ..tasks.sweep import sweep
from ..train import saved_steps
from ..train.run_directory import kept_settings
from ..train.trained import model_directory
from .options import TITLES, add_section, given_fields
from .run_lines import columns, ended_line, time_line
from .sweep_lines import sweep_lines
from .training import add_run_arguments, run_training

SECTIONS = {"task": "what it learns, from which files"} | {name: TITLES[name] for name in TaskSettings.SECTIONS
                                                           if name != "task"}
LATER = "the preset's, for the data and the model"
DEFAULTS = dict.fromkeys(("batch", "micro_batch", "steps", "rate", "warmup", "evaluate_every", "every"), LATER)


def add_arguments(parser):
    parser.description = ("Fine-tune a model for a task into the directory RUN, with the paper's settings if none are "
                          "given. Ctrl-C saves and stops; the same command resumes the run.")
    parser.usage = "minalbert finetune RUN --task NAME --data DIR --model DIR [--config FILE] [any setting below]"
    add_run_arguments(parser)
    parser.add_argument("--model", dest="weights", metavar="DIR",
                        help="what to begin with: a run, a checkpoint or a model")
    parser.add_argument("--seeds", type=int, metavar="N", help="N runs in the directory RUN, each with another seed")
    parser.add_argument("--rates", metavar="A,B", help="runs in the directory RUN with each of these rates")
    parser.add_argument("--config", metavar="FILE", help="settings in TOML; options given here go before it")
    parser.add_argument("--with", action="append", dest="code", metavar="FILE", help="your own functions in the model")
    for section, title in SECTIONS.items():
        add_section(parser, section, DEFAULTS, TaskSettings, title, without=("code", "weights"))


def run(options):
    several = options.seeds is not None or options.rates is not None
    train, lines = (sweep_of(options), sweep_lines) if several else (finetune, result_lines)
    return run_training(options, lambda: settings_of(options, options.run), train, lines)


def sweep_of(options):
    """The function of several runs that takes the arguments of `finetune`."""

    def train(settings, directory, observer, from_step, own_code, ranks):
        seeds, rates = ranks.from_first(lambda: lists_of(options, settings.training.seed))
        return sweep(settings, directory, seeds, rates, observer, own_code, ranks)

    return train


def lists_of(options, first):
    """(seeds, rates), each None if it is not given. first: the first seed"""
    if options.from_step is not None:
        raise ConfigError("--from-step is for one run, and --seeds and --rates make several: name one of these runs, "
                          "without --seeds and --rates")
    if options.rates is not None and options.rate is not None:
        raise ConfigError(f"rate is {options.rate:g}, and rates is {options.rates!r}; give one of --rate and --rates")
    count = options.seeds
    seeds = None if count is None else range(first, first + whole("seeds", count, 1, 1000, ConfigError))
    return seeds, None if options.rates is None else rates_in(options.rates)


def rates_in(text):
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"rates is {text!r}; it must be numbers, such as 1e-5,3e-5") from None


def settings_of(options, run):
    changes = given_fields(options, *TaskSettings.SECTIONS, settings=TaskSettings)
    if options.code:
        changes = {"kernels": "plain", **changes, "code": os.pathsep.join(options.code)}
    if options.config:
        return TaskSettings.read(options.config, **changes)
    return kept_settings(run, TaskSettings, **changes) or TaskSettings.from_tables({}, **changes)


def result_lines(result, again):
    yield ended_line(result, again)
    guesses = {name.removeprefix("guessing_"): value for name, value in result.baselines._asdict().items()}
    names = list(result.before._fields)
    yield columns("dev", *names)
    for title, found in (("begin", result.before._asdict()), ("now", result.after and result.after._asdict()),
                         ("best", result.best and result.best["scores"]), ("guessing", guesses)):
        if found:
            yield columns(title, *(f"{found[name]:.3f}" if name in found else "-" for name in names))
    if result.best:
        yield f"the best {names[0]} is that of step {result.best['step']:,}: {best_place(result)}"
        if result.before[0] > result.best["scores"][names[0]]:
            yield (f"before the first step it was higher, {result.before[0]:.3f}: training brought nothing yet; fresh "
                   "weights are no candidate for the best step")
    if result.after and getattr(result.after, SAME) == 1:
        yield ("the model gives every example the same answer now: it has learnt nothing; another seed or rate, more "
               "warm-up or more steps may help")
    if any(result.spent.values()):
        yield time_line(result.spent)


def best_place(result):
    """Where the weights of the best step are."""
    if model_directory(result.directory) == saved_steps.path_of(result.directory, result.best["step"]):
        return f"it is what --model {result.directory} reads"
    return f"it could not be saved, and --model {result.directory} reads the newest checkpoint"
