"""`minalbert finetune RUN`: train a model for a task; stop it, resume it."""

import os

from ..tasks.finetuning import finetune
from ..tasks.settings import TaskSettings
from ..train import saved_steps
from ..train.run_directory import kept_settings
from ..train.trained import model_directory
from .options import TITLES, add_section, given_fields
from .run_lines import columns, ended_line, time_line
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
    parser.add_argument("--config", metavar="FILE", help="settings in TOML; options given here go before it")
    parser.add_argument("--with", action="append", dest="code", metavar="FILE", help="your own functions in the model")
    for section, title in SECTIONS.items():
        add_section(parser, section, DEFAULTS, TaskSettings, title, without=("code", "weights"))


def run(options):
    return run_training(options, lambda: settings_of(options), finetune, result_lines)


def settings_of(options):
    changes = given_fields(options, *TaskSettings.SECTIONS, settings=TaskSettings)
    if options.code:
        changes = {"kernels": "plain", **changes, "code": os.pathsep.join(options.code)}
    if options.config:
        return TaskSettings.read(options.config, **changes)
    return kept_settings(options.run, TaskSettings, **changes) or TaskSettings.from_tables({}, **changes)


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
    if any(result.spent.values()):
        yield time_line(result.spent)


def best_place(result):
    """Where the weights of the best step are."""
    if model_directory(result.directory) == saved_steps.path_of(result.directory, result.best["step"]):
        return f"it is what --model {result.directory} reads"
    return f"it could not be saved, and --model {result.directory} reads the newest checkpoint"
