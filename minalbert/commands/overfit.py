"""`minalbert overfit --corpus DIR`: can these settings learn one batch by heart?"""

import math

from ..train.trials import LEARNT, overfit
from .options import add_settings_arguments, settings_of
from .own_code import own_code
from .printing import print_result
from .progress import Progress
from .run_lines import number

SHOWN = (1, 2, 5)                                    # trials, times 1, 10, 100, ...


def add_arguments(parser):
    parser.usage = "minalbert overfit --corpus DIR [--trials N] [--json] [any setting below]"
    parser.description = (
        "Train on one batch again and again, until it is known by heart: a test of model, settings and corpus. "
        "Nothing is kept; --steps and the schedule have no effect, and without --rate it takes a rate of its own."
    )
    parser.add_argument("--trials", type=int, default=300, metavar="N", help="steps, at most; default: 300")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_settings_arguments(parser)


def run(options):
    settings = settings_of(options)
    with own_code(settings.training.code) as own:
        result = overfit(settings, options.trials, observer=Progress(quiet=options.json), own_code=own)
    losses = [{name: value if value is not None and math.isfinite(value) else None for name, value in each.items()}
              for each in result.losses]
    print_result(options, result._asdict() | {"losses": losses}, result_lines(result, settings))
    return 0 if result.learnt else 1


def result_lines(result, settings):
    losses, training = result.losses, settings.training
    yield f"one batch of {training.batch}, {settings.optimiser.optimiser} at rate {result.rate:g}"
    yield f"{'trial':>7}{'loss':>10}{'MLM':>10}{'SOP':>10}"
    for trial, found in enumerate(losses, 1):
        if trial / 10 ** (len(str(trial)) - 1) in SHOWN or trial == len(losses):
            yield f"{trial:>7}" + "".join(f"{number(value):>10}" for value in found.values())
    first, last = losses[0]["loss"], losses[-1]["loss"]
    if result.learnt:
        yield f"learnt by heart: the loss is below 1/{1 / LEARNT:g} of the first, after {len(losses) - 1} steps"
    else:
        yield f"not learnt: the loss is {last:.3g}, and was to be below {LEARNT * first:.3g}"
        yield f"look first at {result.advice}"
