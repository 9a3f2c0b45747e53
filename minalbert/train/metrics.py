"""metrics.jsonl: one line for each thing that happened, in the order in which it did.

    {"kind": "start", "unigram_entropy": 5.19, ...}        what the run is
    {"kind": "train", "step": 10, "loss": 7.9, ...}        every log_every steps
    {"kind": "eval",  "step": 250, "mlm_loss": 4.8, ...}   on held-out documents
    {"kind": "event", "step": 250, "event": "left the plateau", "text": ...}

A run that goes on from a checkpoint drops the lines that were written after it: they will be written again, the same
but for the clock's. A disk that is full stops no training: lines wait until there is room.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from ..data.atomic import write_atomically
from ..data.errors import DataError
from .errors import TrainError

FILE = "metrics.jsonl"
CLOCK = ("seconds", "tokens_per_second", "data", "forward", "backward", "optimiser")  # keys that no two runs share


def read_lines(run):
    """Dicts. A last line that a kill cut short is left out."""
    path = Path(run) / FILE
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
        except ValueError:
            if any(lines[number:]):
                said = line[:60].decode(errors="replace")
                raise TrainError(f"{path}:{number} is no line of metrics: {said}") from None
    return found


class Metrics:
    def __init__(self, run, step=0, position=0, fresh=True, tensorboard=False):
        """Of a run that stands at this step and before this batch; a fresh one drops all lines."""
        self.path, self._waiting, self._told = Path(run) / FILE, [], False
        kept = [] if fresh else [line for line in read_lines(run) if line["position"] <= position]
        content = "".join(json.dumps(line) + "\n" for line in kept)
        if content or self.path.exists():
            try:
                write_atomically(self.path, content.encode())
            except DataError as error:
                raise TrainError(str(error)) from error
        self._board = board(run, step) if tensorboard else None

    def write(self, kind, **values):
        self._waiting.append(json.dumps({"kind": kind, **values}) + "\n")
        try:
            with open(self.path, "ab") as file:
                file.write("".join(self._waiting).encode())
        except OSError as error:
            if not self._told:
                print(f"{self.path} cannot be written ({error.strerror}); training goes on", file=sys.stderr)
            self._told = True
            return
        self._waiting, self._told = [], False
        if self._board and kind in ("train", "eval"):
            for name, value in values.items():
                if isinstance(value, int | float) and name not in ("step", "position"):
                    self._board.add_scalar(f"{kind}/{name}", value, values["step"])

    def sync(self):
        """Onto the disk, before a checkpoint that stands on it."""
        with suppress(OSError), open(self.path, "ab") as file:
            os.fsync(file.fileno())

    def close(self):
        if self._board:
            self._board.close()


def board(run, step):
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise TrainError("tensorboard needs a writer of event files: pip install 'minalbert[train]'") from error
    return SummaryWriter(str(run), purge_step=step + 1, flush_secs=10)
