"""Results: a line of JSON for each cell, with all that its bits depend on.

    PLACE/results/sharing/NAME.json       of a cell, as soon as it is measured
    minalbert/experiments/results/*.jsonl stored: those that docs/paper.md is made of
"""

import datetime
import json
from pathlib import Path

from ..files import names_in, read, write_atomically
from ..train.environment import environment
from .cells import FIRST_SEED, FULL, TRYING, cells_of

STORED = Path(__file__).parent / "results"
ADVICE = "remove it, and run the table again"


def add(place, cell, result, scores, seconds):
    """Write down what came out of a cell."""
    line = cell.key | {
        "scores": {name: round(float(score), 6) for name, score in scores.items()},
        "kernels": result.model.compute.kernels, "weights": int(result.model.params.flat.size),
        "tokens": cell.tokens, "operations": cell.operations, "seconds": round(result.seconds, 1),
        "measured_in": round(seconds, 1), "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "environment": environment(),
    }  # fmt: skip
    directory = place_of(place, cell.experiment)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / f"{cell.name}.json", (json.dumps(line) + "\n").encode())
    return line


def place_of(place, experiment):
    return Path(place) / "results" / experiment.name


def own(place, experiment):
    """The lines of a directory that runs were made in."""
    directory = place_of(place, experiment)
    names = [name for name in names_in(directory, "make it readable") if name.endswith(".json")]
    return [line for name in names for line in lines_of(directory / name)]


def stored(name):
    """The lines of a table that come with the package."""
    path = STORED / f"{name}.jsonl"
    return lines_of(path) if path.exists() else []


def lines_of(path):
    return [json.loads(line) for line in read(path, ADVICE).decode().splitlines()]


def store(place, experiment):
    """Write the package's file from a directory's lines, in the order of their names: tries, and the full runs if none
    is missing. Returns how many are."""
    lines, before = own(place, experiment), stored(experiment.name)
    missing = sum(found(cell, lines) is None for cell in cells_of(experiment))
    sizes = (TRYING,) if missing else (TRYING, FULL)
    kept = [line for line in lines if line["size"] in sizes]
    if kept and not (missing and any(line["size"] == FULL for line in before)):
        text = "".join(f"{json.dumps(line)}\n" for line in kept)
        write_atomically(STORED / f"{experiment.name}.jsonl", text.encode())
    return missing


def found(cell, lines):
    """The line of a cell, or None."""
    key = cell.key
    return next((line for line in lines if key.items() <= line.items()), None)


def scores_of(experiment, lines, size):
    """{seed: {arm: {measure: number}}} of all finished cells of a size, and the lines that they are from."""
    scores, used = {}, []
    seeds = max((line["seed"] + 1 for line in lines if line["size"] == str(size)), default=FIRST_SEED) - FIRST_SEED
    for cell in cells_of(experiment, size, seeds):
        if line := found(cell, lines):
            scores.setdefault(cell.seed, {})[cell.arm] = line["scores"]
            used.append(line)
    return scores, used
