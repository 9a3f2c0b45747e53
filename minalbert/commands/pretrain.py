"""`minalbert pretrain RUN`: train a model, watch it, stop it, resume it."""

from ..train import pretrain
from .options import add_settings_arguments, settings_of
from .run_lines import result_lines
from .training import add_run_arguments, run_training


def add_arguments(parser):
    parser.description = (
        "Pretrain a model into the directory RUN. Ctrl-C saves and stops; the same command resumes the run."
    )
    parser.usage = "minalbert pretrain RUN --corpus DIR [--config FILE] [--preset NAME] [any setting below]"
    add_run_arguments(parser)
    add_settings_arguments(parser)


def run(options):
    return run_training(options, lambda: settings_of(options, options.run), pretrain, result_lines)
