"""`minalbert find-rate --corpus DIR`: which learning rate suits these settings?"""

import numpy as np

from .. import plots
from ..train.trials import find_rate
from .options import add_settings_arguments, figure_file, settings_of
from .own_code import own_code
from .printing import bar, print_result
from .progress import Progress

WIDTH = 40                                           # of the longest bar
ROWS = 3                                             # to a decade


def add_arguments(parser):
    parser.usage = "minalbert find-rate --corpus DIR [--trials N] [--plot FILE] [--json] [any setting below]"
    parser.description = (
        "Train for a moment with a rate that rises from far too small to far too large, and suggest one. "
        "Nothing is kept; --rate, --steps and the schedule have no effect."
    )
    parser.add_argument("--trials", type=int, default=100, metavar="N", help="batches, a rate for each; default: 100")
    parser.add_argument("--plot", type=figure_file, metavar="FILE",
                        help="draw the loss against the rate, as .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_settings_arguments(parser)


def run(options):
    settings = settings_of(options)
    with own_code(settings.training.code) as own:
        found = find_rate(settings, options.trials, observer=Progress(quiet=options.json), own_code=own)
    if options.plot:
        plots.save(plots.rate_curve(found, settings.optimiser.optimiser), options.plot)
    lists = {name: value.tolist() for name, value in found._asdict().items() if isinstance(value, np.ndarray)}
    print_result(options, found._asdict() | lists, search_lines(found, settings))
    return 1 if found.suggestion is None else 0


def search_lines(found, settings):
    training, optimiser = settings.training, settings.optimiser.optimiser
    yield (f"{len(found.losses)} batches of {training.batch}, {optimiser}; MLM + SOP loss at a rate that rises; "
           f"the end: {found.ended}")
    yield from picture(found)
    if found.suggestion is None:
        yield ("no rate is suggested: the loss did not fall by more than it differs from batch to batch; more --trials "
               "may tell, or `minalbert overfit` whether anything can be learnt")
        return
    yield (f"suggested peak rate: {found.suggestion:g}, a tenth of that of the lowest loss; so: minalbert pretrain RUN "
           f"--rate {found.suggestion:g}, and the options given here")


def picture(found):
    """A bar for each third of a decade, cut off where it is longer than half again the first."""
    longest = 1.5 * found.means[0]
    decades = np.log10(found.middles)
    for decade in np.arange(np.ceil(ROWS * decades[0]), ROWS * decades[-1] + 1e-9) / ROWS:
        mean = np.interp(decade, decades, found.means)
        here = "  lowest" if abs(decade - decades[found.lowest]) <= 0.5 / ROWS else ""
        more = "..." if mean > longest else ""
        yield f"{10**decade:>10.1e}{mean:>9.3f}  {bar(min(1, mean / longest), WIDTH)}{more}{here}"
