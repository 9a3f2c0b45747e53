"""Several fine-tunings with other seeds and rates: a run directory for each, and what they have in common.

    found = sweep(settings, "runs/sst2", seeds=range(5), rates=[1e-5, 3e-5])
    found.groups[0].median                           # of the best dev scores with the first rate

A fine-tuning of a small set may learn nothing with one seed, and much with another. It has failed if guessing may reach
its best score by chance (dev_test.py), or if it gives the same answer to everything.
"""

import functools
import json
import math
import statistics
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..arguments import path_of
from ..errors import ConfigError, TrainError
from ..files import read, write_atomically
from ..parallel import ALONE
from ..train.assemble import observer_of
from ..train.run_directory import CONFIG, SWEEP, kept_settings
from ..train.run_settings import OptimiserSettings
from ..train.sections import checked
from .dev_test import SAME
from .finetuning import finetune
from .settings import TaskSettings


class SweptRun(NamedTuple):
    directory: str
    rate: float
    seed: int
    step: int                                        # the best
    scores: dict                                     # its scores
    guessing: float                                  # the first score of the same answer to everything
    beyond_chance: float                             # guessing reaches no more by chance
    constant: bool                                   # do all examples get the same answer, of the best step?

    @property
    def score(self):
        return next(iter(self.scores.values()))

    @property
    def failed(self):
        nothing = math.isnan(self.score) or self.score <= self.beyond_chance
        return self.constant or nothing


class Group(NamedTuple):
    """The runs with one rate. Scores are the best steps'."""

    rate: float
    runs: int
    median: float
    lowest: float
    highest: float
    failed: float                                    # the share
    constant: int                                    # runs that give all examples the same answer


class Sweep(NamedTuple):
    directory: str
    metric: str | None                               # None: no run is finished
    runs: list
    groups: list
    code: int                                        # as of the last run


def sweep(settings, directory, seeds=None, rates=None, observer=None, own_code=None, ranks=ALONE):
    """Fine-tune once with each rate and seed; the same call resumes it, and repeats no finished run.

    seeds, rates   lists; None: those of the settings
    ranks          as in `train_run`
    """
    directory, observer, runs = path_of("directory", directory, TrainError), observer_of(observer), []
    ranks.from_first(lambda: check_place(directory))
    planned = list(plan(settings, seeds, rates))
    for number, (name, changes) in enumerate(planned, 1):
        if ranks.rank == 0:
            observer.run_begins(f"run {number} of {len(planned)}: {directory / name}")
        result = finetune(settings.change(**changes), directory / name, observer, own_code=own_code, ranks=ranks)
        if result.code:
            return Sweep(str(directory), None, [], [], result.code)
        runs.append(ranks.from_first(functools.partial(swept, result, directory / name)))
        ranks.from_first(lambda: write_atomically(directory / SWEEP, with_others(directory, table(runs))))
    return Sweep(str(directory), next(iter(runs[0].scores)), runs, groups_of(runs), 0)


def check_place(directory):
    if (directory / CONFIG).exists():
        raise TrainError(f"{directory} is a run; name another directory for the runs of --seeds and --rates")


def plan(settings, seeds, rates):
    """Yield (name of the directory, {setting: value}) of each run. Names say what differs."""
    for kind, values in (("seeds", seeds), ("rates", rates)):
        if values is not None and len(set(values)) != len(values):
            raise ConfigError(f"{kind} has {sorted(values, key=values.count)[-1]} twice; each must be another")
    field = OptimiserSettings.__dataclass_fields__["rate"]
    for rate in [None] if rates is None else [checked(field, rate) for rate in rates]:
        for seed in [None] if seeds is None else seeds:
            changes = {name: value for name, value in (("rate", rate), ("seed", seed)) if value is not None}
            yield "-".join(f"{name}-{value:g}" if name == "rate" else f"{name}-{value}"
                           for name, value in changes.items()) or "run", changes


def swept(result, run):
    settings = kept_settings(run, TaskSettings)
    metric, scores = next(iter(result.best["scores"])), result.best["scores"]
    guessing = getattr(result.baselines, f"guessing_{metric}")
    return SweptRun(result.directory, settings.peak_rate, settings.training.seed, result.best["step"],
                    scores, guessing, result.baselines.beyond_chance, scores[SAME] == 1)


def groups_of(runs):
    groups = []
    for rate in dict.fromkeys(run.rate for run in runs):
        own = [run for run in runs if run.rate == rate]
        scores = [run.score for run in own if not math.isnan(run.score)] or [math.nan]
        groups.append(Group(rate, len(own), statistics.median(scores), min(scores), max(scores),
                            statistics.mean(run.failed for run in own), sum(run.constant for run in own)))
    return groups


def table(runs):
    """{name of the directory: line of JSON} of each run."""
    return {Path(run.directory).name: json.dumps(run._asdict() | {"failed": run.failed}) for run in runs}


def with_others(directory, lines):
    """The bytes of the file of all finished runs in the directory: these lines, and those of other seeds and rates."""
    kept = {}
    if (directory / SWEEP).exists():
        advice = "remove it, and it is written again for the runs that are named"
        for line in read(directory / SWEEP, advice).decode(errors="replace").splitlines():
            with suppress(ValueError, TypeError, KeyError):      # a damaged line is no run's
                kept[Path(json.loads(line)["directory"]).name] = line
    return "".join(f"{line}\n" for line in (kept | lines).values()).encode()
