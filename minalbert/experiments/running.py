"""Make the runs of a table: arms × seeds.

Each cell has a directory: a run of `minalbert pretrain`, which resumes after a kill with the same bits. A cell with a
result is not run again. Several processes share the cells of a table, on one machine or by a shared disk: a cell
belongs to the process that holds its lock, and the system frees the lock when that process ends, however it ends.
"""

import dataclasses
import multiprocessing
import shutil
import signal
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from ..albert import Albert
from ..errors import TrainError
from ..kernels import fastest
from ..train import pretrain
from ..train.process import CODES, give_back, lock, take_signals
from ..train.records import Observer
from ..train.run_directory import CONFIG
from ..train.trained import open_trained
from . import results
from .cells import cell_of, cells_of
from .tables import open_table, reads_text
from .worlds import HELD_OUT, corpus_of

WAIT = 0.5                                           # seconds between looks at cells that another process is at


class TableOutcome(NamedTuple):
    lines: list                                      # the results of all cells
    missing: int                                     # cells without one
    code: int                                        # 0, or that of the signal that stopped a run


class Hearer(Observer):
    """Hears of cells what an Observer hears of runs."""

    def cells(self, done, missing):
        """So many cells are done before anything is run, and these are not."""

    def finished(self, cell, line, operations):
        """A cell has a result, after so many operations of this process."""


def run_table(name, place, size="full", seeds=None, jobs=1, hearer=None):
    """Run every cell of a table that has no result yet. Returns a TableOutcome."""
    experiment = open_table(name, place)
    planned = cells_of(experiment, size, seeds)
    Path(place).mkdir(parents=True, exist_ok=True)
    if reads_text(experiment):
        corpus_of(place, experiment.worlds, 0)       # raises an error if there is none
    hearer = hearer or Hearer()
    missing = without_result(place, planned)
    hearer.cells(len(planned) - len(missing), missing)
    others = [start_another(name, place, size, seeds) for _ in range(min(jobs, len(missing)) - 1)]
    try:
        with stopped_by_signals():
            code = work(place, planned, hearer)
    except StopAsked as stopped:
        (code,) = stopped.args
    finally:
        if without_result(place, planned):           # stopped: each saves and ends
            for process in others:
                process.terminate()
        for process in others:
            process.join()
    lines = results.own(place, experiment)
    done = [line for cell in planned if (line := results.found(cell, lines))]
    return TableOutcome(done, len(planned) - len(done), code)


class StopAsked(BaseException):
    """A signal asked to stop between two runs; its exit code is the argument."""


@contextmanager
def stopped_by_signals():
    """Raise StopAsked at a signal between runs, where nothing has to be saved. A run answers signals itself."""

    def handle(number, frame):
        raise StopAsked(CODES[signal.Signals(number).name])

    before = take_signals(handle, without="SIGINT")
    try:
        yield
    finally:
        give_back(before)


def start_another(name, place, size, seeds):
    process = multiprocessing.get_context("spawn").Process(target=run_quietly, args=(name, place, size, seeds))
    process.start()
    return process


def run_quietly(name, place, size, seeds):
    work(place, cells_of(open_table(name, place), size, seeds), Hearer())


def without_result(place, planned):
    lines = results.own(place, planned[0].experiment) if planned else []
    return [cell for cell in planned if not results.found(cell, lines)]


def work(place, planned, hearer):
    """Run cells until all have results, or until one was stopped by a signal. Returns its code, or 0."""
    operations = 0
    while missing := without_result(place, planned):
        taken = 0
        for cell in missing:
            if (before := cell_before(cell.trained)) and without_result(place, [before]):
                continue
            with ExitStack() as held:
                if not claimed(held, place, cell) or not without_result(place, [cell]):
                    continue
                line, code = run_cell(place, cell, hearer)
            if code:
                return code
            taken, operations = taken + 1, operations + cell.operations
            hearer.finished(cell, line, operations)
        if not taken:
            time.sleep(WAIT)
    return 0


def cell_before(cell):
    """The cell whose model this one begins with, or None."""
    arm = cell.experiment.arms[cell.arm].after
    return cell_of(cell.experiment, cell.size, arm, cell.seed, cell.choice) if arm else None


def directory_of(place, cell):
    return Path(place) / "runs" / cell.trained.experiment.name / cell.trained.name


def claimed(held, place, cell):
    """Hold the cell's lock for as long as `held` is open, unless another process has it."""
    directory = directory_of(place, cell)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        held.enter_context(lock(directory))
    except TrainError:
        return False
    return True


def run_cell(place, cell, hearer):
    """Train and measure. Returns (line of the result, 0), or (None, the code of a signal)."""
    hearer.run_begins(f"{cell.experiment.name}: {cell.arm}, seed {cell.seed}")
    run = directory_of(place, cell) / "run"
    result = pretrain(placed(place, cell.trained), run, observer=hearer)
    if result.code:
        return None, result.code
    begin = time.perf_counter()
    scores = cell.experiment.measure(result.model, cell.held_out(place)._replace(run=run))
    return results.add(place, cell, result, scores, time.perf_counter() - begin), 0


def placed(place, cell):
    """The cell's settings with what this machine has: directories, and its fastest kernels."""
    tested = dataclasses.replace(cell.worlds, seed=cell.held_out(place).seed)
    settings = cell.settings.change(corpus=str(corpus_of(place, cell.worlds, cell.stories)),
                                    held_out=str(corpus_of(place, tested, HELD_OUT)), workers=1,
                                    kernels=fastest(cell.settings.training.device))
    arm = cell.experiment.arms[cell.arm]
    if arm.start is None:
        return settings
    return settings.change(weights=str(first_weights(place, cell, arm, settings)))


def first_weights(place, cell, arm, settings):
    """The directory of the model that a run begins with."""
    directory = directory_of(place, cell)
    start = directory / "start"
    if not (directory / "run" / CONFIG).exists():    # else the run has begun, and has its weights
        shutil.rmtree(start, ignore_errors=True)
        before = cell_before(cell)
        model = open_trained(directory_of(place, before) / "run").model if before else None
        begun = arm.start(settings.model, cell.seed, model)
        Albert(begun.config, begun.params).save_pretrained(start)
    return start
