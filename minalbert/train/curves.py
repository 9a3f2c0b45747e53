"""A run's metrics as arrays.

    curves = read_curves("runs/first")
    curves.train["step"], curves.train["mlm_loss"]            # lines of the training
    curves.held_out["step"], curves.held_out["sop_accuracy"]  # tests
    curves.ratios["encoder.ffn.up.w"]                         # at curves.ratios["step"]; empty without LAMB

What is missing in a line is NaN. Where a run went back to a checkpoint, what it went back behind is left out.
"""

import math
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import files
from ..arguments import path_of
from ..errors import DamagedError, DamagedWarning, MissingFileError, TrainError
from . import checkpoint
from .log import FILE, differs, read_lines
from .run_directory import runs_in, several

TRAIN = ("step", "loss", "mlm_loss", "sop_loss", "rate", "gradient_norm", "tokens_per_second", "seconds")
HELD_OUT = ("step", "mlm_loss", "mlm_accuracy", "sop_loss", "sop_accuracy", "sop_recall_in_order", "sop_recall_swapped")

MILESTONES = ("left the plateau", "order learnt", "better than guessing")
OTHERS = "kind", "position"                          # of a test's line, no scores


class Event(NamedTuple):
    step: int
    event: str
    text: str


class Curves(NamedTuple):
    name: str
    start: dict                                      # what the run is: unigram_entropy, parameters, ...
    train: dict                                      # of TRAIN, an array each
    held_out: dict                                   # of HELD_OUT, and of a fine-tuning the scores of its task
    ratios: dict                                     # "step", and the trust ratios of each tensor
    events: list

    @property
    def own_scores(self):
        """The names of a fine-tuning's scores; the first is that which chooses the best step."""
        return [name for name in self.held_out if name not in HELD_OUT]

    def when(self, event):
        """The step of the first such event, or None."""
        return next((found.step for found in self.events if found.event == event), None)


def read_curves(run):
    """The curves of a run. If its log is not what its newest checkpoint recorded, a DamagedWarning says so."""
    path = path_of("run", run, TrainError) / FILE
    try:
        content = files.read(path, f"`minalbert pretrain {run}` puts it aside")
    except MissingFileError as error:
        if runs := runs_in(run):
            raise TrainError(several(run, runs)) from error
        raise TrainError(f"{run} has no {FILE}; it must be the directory of a run, and `minalbert pretrain {run}` "
                         "begins a new log") from error
    curves = curves_of(read_lines(run), Path(run).resolve().name)
    if differs(content, next(checkpoint.newest_notes(run), {}).get("log")):
        sentence = f"{path} is not what was written there until the newest checkpoint"
        if not (len(curves.train["step"]) or len(curves.held_out["step"])):
            raise DamagedError(f"{sentence}, and no measurement in it can be read; restore it from a copy")
        warnings.warn(f"{sentence}; curves may be wrong", DamagedWarning, stacklevel=2)
    return curves


def curves_of(lines, name):
    start, events, scored = {}, [], {"train": [], "eval": []}
    for line in lines:
        kind = line.get("kind")
        if kind == "start":
            start = line
        elif kind == "event":
            events.append(Event(line["step"], str(line.get("event")), str(line.get("text", ""))))
        elif kind in scored:
            while scored[kind] and scored[kind][-1]["step"] >= line["step"]:
                scored[kind].pop()
            scored[kind].append(line)
    train, held_out = scored.values()
    names = dict.fromkeys([*HELD_OUT, *(name for line in held_out for name in line if name not in OTHERS)])
    ratios = [{"step": line["step"], **found} for line in train
              if isinstance(found := line.get("trust_ratios"), dict) and found]
    return Curves(name, start, columns(train, TRAIN), columns(held_out, names),
                  columns(ratios, ratios[-1]) if ratios else {}, events)


def columns(lines, names):
    return {name: np.array([number(line.get(name)) for line in lines]) for name in names}


def number(value):
    return float(value) if isinstance(value, int | float) else math.nan


def scores(curves):
    """The last scores of a run, and its events."""
    steps = [*curves.train["step"], *curves.held_out["step"]]
    last = {name: last_number(values) for name, values in curves.held_out.items() if name != "step"}
    return {"run": curves.name, "step": int(max(steps, default=0)), **last,
            "events": [event._asdict() for event in curves.events]}


def last_number(values):
    there = values[np.isfinite(values)]
    return float(there[-1]) if len(there) else None


def summary(curves):
    """The last scores in one sentence."""
    found = scores(curves)
    facts = [f"{found['step']:,} steps"]
    for name, title, form in (("mlm_loss", "MLM loss", ".2f"), ("mlm_accuracy", "MLM accuracy", ".1%"),
                              ("sop_accuracy", "SOP accuracy", ".1%")):
        if found[name] is not None:
            facts.append(f"{title} {found[name]:{form}}")
    for name in curves.own_scores[:1]:
        facts.append(f"{name} {found[name]:.3f} in the last test" if found[name] is not None else f"{name} unknown")
    facts += [f"{event} at step {curves.when(event):,}" for event in MILESTONES if curves.when(event) is not None]
    return f"{curves.name}: {', '.join(facts)}"
