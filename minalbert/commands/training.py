"""The common part of all commands that train: a run from its settings to its exit code."""

import sys
from contextlib import ExitStack, contextmanager

from ..errors import NoRoomError
from ..train.process import AGAIN, ignoring_signals
from . import fail, no_more_output
from .on_ranks import on_ranks
from .own_code import own_code
from .printing import print_result
from .progress import Progress
from .run_lines import as_json


def add_run_arguments(parser):
    parser.add_argument("run", metavar="RUN", help="directory of the run: settings, checkpoints, metrics")
    parser.add_argument("--from-step", type=int, metavar="N", help="resume from this checkpoint; put later ones aside")
    parser.add_argument("--print-config", action="store_true", help="print all settings as TOML, and do nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")


def run_training(options, settings_of, train, lines):
    """Train, alone or on several ranks, and print what came out. Returns the exit code.

    settings_of()   the run's settings; rank 0 alone reads them
    train           pretrain or finetune
    lines           function of a RunResult, and of the command that resumes the run
    """
    return on_ranks(lambda ranks: started(options, ranks.from_first(settings_of), train, lines, ranks))


def started(options, settings, train, lines, ranks):
    if options.print_config:
        print(settings.toml(comment_defaults=True) if ranks.rank == 0 else "", end="")
        return 0
    progress = Progress()
    with ignoring_signals(lambda: progress.closed):
        return trained(options, settings, train, lines, progress, ranks)


def trained(options, settings, train, lines, progress, ranks):
    try:
        with ExitStack() as held:
            own = ranks.from_all(lambda: held.enter_context(own_code(settings.training.code)))
            result = train(settings, options.run, observer=progress, from_step=options.from_step, own_code=own,
                           ranks=ranks)
    except KeyboardInterrupt:
        progress.alert(f"stopped at once; {resuming(options)} resumes from the newest checkpoint")
        return 130
    except NoRoomError as error:                     # the newest checkpoint is older than what was trained
        return fail(options.prog, error, AGAIN) if ranks.rank == 0 else AGAIN
    if ranks.rank:
        return result.code
    with surviving_a_closed_terminal():
        print_result(options, as_json(result), lines(result, resuming(options)))
        sys.stdout.flush()
    return result.code


def resuming(options):
    """The command that resumes what was stopped."""
    lists = {name: getattr(options, name, None) for name in ("seeds", "rates")}
    if several := [f"--{name} {value}" for name, value in lists.items() if value is not None]:
        return f"the same command, with {' and '.join(several)},"
    return f"{options.prog} {options.run}" if options.from_step is not None else "the same command"


@contextmanager
def surviving_a_closed_terminal():
    """A run that was saved because its terminal closed keeps its exit code, although its result cannot be printed."""
    try:
        yield
    except OSError:
        no_more_output()
