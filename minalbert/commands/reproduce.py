"""`minalbert reproduce`: does a claim of the paper show in small models? Run it, and read the verdict."""

import time
from pathlib import Path

from .. import plots
from ..arguments import whole
from ..capacity import cores
from ..data.documents import LAYOUT_HELP, LAYOUTS
from ..errors import MinalbertError
from ..experiments import results
from ..experiments.cells import FULL, QUICK, TRYING, Larger, cells_of
from ..experiments.report import figure, figure_name, has_figure, measured, page, rows, summary, text, verdict_text
from ..experiments.running import Hearer, run_table
from ..experiments.tables import TABLES, open_table, reads_text
from ..experiments.texts import prepare, texts_of
from ..files import write_atomically
from .printing import counted, print_result
from .progress import Progress, clock

ALL, OUT = "all", "paper"


def add_arguments(parser):
    parser.description = ("Ask of small models whether the paper's claims show. Ctrl-C saves and stops; the same "
                          "command goes on. docs/paper.md has the results that are stored.")
    parser.usage = "minalbert reproduce list | run TABLE | show TABLE | report"
    what = parser.add_subparsers(dest="what", required=True, metavar="list | run | show | report")
    add_list(what.add_parser("list", help="the tables, their runs and what is stored"))
    add_run(what.add_parser("run", help="make the runs of a table that have no result yet"))
    add_show(what.add_parser("show", help="the paper's numbers beside ours, and the verdicts"))
    add_report(what.add_parser("report", help="write the page of all tables"))


def add_list(parser):
    add_json(parser)


def add_run(parser):
    parser.add_argument("table", choices=(*TABLES, ALL), metavar="TABLE", help=f"{', '.join(TABLES)}, or {ALL}")
    parser.add_argument("--seeds", type=int, metavar="N", help="default: the table's own number")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few steps and one seed: does it run? No verdicts")
    size.add_argument("--try", action="store_true", dest="trying", help="try each arm's rates, on a seed and stories "
                      "of their own; the experiments' files have the rates that were chosen so")
    size.add_argument("--times", type=int, metavar="K", help="models K times as wide, with K times the steps")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of --times: cuda is a GPU")
    parser.add_argument("--text", metavar="FOLDER", help="of text files, for real_text; once for a DIR")
    parser.add_argument("--layout", choices=LAYOUTS, default="long-lines",
                        help=f"of the text: {LAYOUT_HELP.replace(' (the default)', '')}; default: long-lines")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N",
                        help="processes that share the runs; default: one for each core")
    add_common(parser)


def add_show(parser):
    parser.add_argument("table", choices=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
    add_common(parser)


def add_report(parser):
    parser.add_argument("--page", default="paper.md", metavar="FILE", help="default: paper.md")
    parser.add_argument("--store", action="store_true", help="first store the results of --out in the package, as the "
                        "repository has them")
    add_common(parser)


def add_common(parser):
    parser.add_argument("--out", default=OUT, metavar="DIR", help=f"of runs and their results; default: {OUT}")
    add_json(parser)


def add_json(parser):
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    return {"list": list_tables, "run": run_tables, "show": show, "report": report}[options.what](options)


def list_tables(options):
    tables = [measured(name) for name in TABLES]
    found = [{"table": table.experiment.name, "of": table.experiment.tables, "claim": table.experiment.claim,
              "runs": len(cells_of(table.experiment)), "stored": len(table.lines), "verdicts": summary(table)}
             for table in tables]  # fmt: skip
    print_result(options, {"tables": found}, [
        f"{line['table']:16} {line['of']}: {line['runs']} runs, {line['stored']} stored; {line['verdicts']}"
        for line in found
    ])
    return 0


def run_tables(options):
    whole("jobs", options.jobs, 1)
    if options.seeds is not None:
        whole("seeds", options.seeds, 1)
    if options.text:
        prepare(options.out, options.text, options.layout)
    names = [options.table]
    if options.table == ALL:                         # without text, all but what reads it
        names = [name for name, table in TABLES.items() if not reads_text(table) or texts_of(options.out)]
    size = size_of(options)
    found, lines = {}, []
    for name in names:
        outcome = run_table(name, options.out, size, options.seeds, options.jobs, CellProgress(quiet=options.json))
        if outcome.code:
            return outcome.code
        found[name] = outcome.lines
        lines += [*text(name, outcome.lines, size, options.out), ""]
    print_result(options, found, lines[:-1])
    return 0


def size_of(options):
    if options.times is not None:
        return Larger(whole("times", options.times, 2, 64), options.device)
    if options.device != "cpu":
        raise MinalbertError("device is 'cuda'; a GPU is for models that are larger: give --times, too")
    return QUICK if options.quick else TRYING if options.trying else FULL


def check_out(options):
    if options.out != OUT and not Path(options.out).is_dir():
        raise MinalbertError(f"{options.out} is not a directory; name that of `minalbert reproduce run --out DIR`")


def show(options):
    check_out(options)
    experiment = open_table(options.table)
    own = results.own(options.out, experiment)
    table = measured(options.table, own or None, place=options.out if own else None)
    source = f"results in {options.out}" if own else "stored results, those of docs/paper.md"
    print_result(options, {
        "table": options.table, "source": source, "rows": list(rows(table)),
        "verdicts": {verdict.says: verdict_text(verdict) for verdict in table.verdicts()}, "results": table.lines,
    }, [*text(options.table, own or None, place=options.out if own else None), f"({source})"])  # fmt: skip
    return 0


def report(options):
    check_out(options)
    if not Path(options.page).parent.is_dir():
        raise MinalbertError(f"{options.page} has no directory to be written into; name another file")
    missing = {name: results.store(options.out, table) for name, table in TABLES.items()
               if options.store and results.own(options.out, table)}  # fmt: skip
    write_atomically(Path(options.page), page().encode())
    drawn = [name for name in TABLES if has_figure(measured(name))]
    for name in drawn:
        plots.save(figure(name), Path(options.page).parent / figure_name(name))
    print_result(options, {"page": options.page, "figures": drawn},
                 [*(f"{name} lacks {counted(runs, 'run')}: only its tries are stored" for name, runs in missing.items()
                    if runs), f"wrote {options.page}, with {counted(len(drawn), 'figure')} beside it"])
    return 0


class CellProgress(Progress, Hearer):
    """The progress of a run, and between the runs how many are done, and how long the others will take."""

    def cells(self, done, missing):
        self.begun, self.left, self.done = time.monotonic(), {cell.name: cell.operations for cell in missing}, done
        self.all, self.operations = done + len(missing), sum(self.left.values())
        self.message(f"{done} of {self.all} runs are done; {self.operations / 1e12:.1f}·10¹² operations are left")

    def finished(self, cell, line, operations):
        self.done += 1
        self.operations -= cell.operations
        left = (time.monotonic() - self.begun) / operations * self.operations
        scores = ", ".join(f"{name} {line['scores'][name]:.3f}" for name in list(cell.experiment.columns)[:3]
                           if name in line["scores"])  # fmt: skip
        self.message(f"{cell.arm}, seed {cell.seed}: {scores}; about {clock(left)} left for one process")
