"""`minalbert plot RUN...`: how training went, as a picture."""

from pathlib import Path

from .. import plots
from ..train.curves import read_curves, scores, summary
from ..train.run_directory import runs_in
from .options import figure_file
from .printing import print_result

FILE = "curves.png"


def add_arguments(parser):
    parser.description = "Draw the curves of a run, or of several on top of each other."
    parser.add_argument("runs", nargs="+", metavar="RUN",
                        help="directory of a run, of `pretrain` or `finetune`, or of several runs")
    parser.add_argument("--out", type=figure_file, metavar="FILE",
                        help=f".png, .svg or .pdf; default: {FILE} in RUN, for several here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    runs = named(options.runs)
    out = options.out or (Path(options.runs[0]) / FILE if len(options.runs) == 1 else FILE)
    plots.save(plots.training_curves(runs), out)
    print_result(options, {"out": str(out), "runs": [*map(scores, runs)]}, [*map(summary, runs), f"curves in {out}"])
    return 0


def named(directories):
    """By the directories' names, or where these are the same, as they were given."""
    directories = [run for directory in directories for run in runs_of(directory)]
    runs = [read_curves(directory) for directory in directories]
    if len({curves.name for curves in runs}) == len(runs):
        return runs
    return [curves._replace(name=str(directory)) for curves, directory in zip(runs, directories, strict=True)]


def runs_of(path):
    """A run, or those of a directory of several; none of a file that lies beside these, as `DIRECTORY/*` names it."""
    path = Path(path)
    return [] if path.is_file() and runs_in(path.parent) else runs_in(path) or [path]
