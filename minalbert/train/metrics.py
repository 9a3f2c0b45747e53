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
from contextlib import suppress
from pathlib import Path

from ..errors import FileError, TrainError
from ..files import write_atomically
from .screen import tell

FILE = "metrics.jsonl"
CLOCK = ("seconds", "tokens_per_second", "data", "forward", "backward", "optimiser")  # keys that no two runs share


def read_lines(run, broken=None):
    """Dicts. A last line that a kill cut short is left out. Others that cannot be read are an error, or where a list
    `broken` is given a sentence in it."""
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
                said = f"{path}:{number} is no line of metrics: {line[:60].decode(errors='replace')}"
                if broken is None:
                    raise TrainError(said) from None
                broken.append(f"{said}; it is left out")
    return found


class Metrics:
    def __init__(self, run, position=0, fresh=True, board=None):
        """Of a run that stands before this batch; a fresh one drops all lines."""
        self.path, self.board, self.broken = Path(run) / FILE, board, []
        self._waiting, self._told = [], False
        lines = [] if fresh else read_lines(run, self.broken)
        content = "".join(json.dumps(line) + "\n" for line in lines if line["position"] <= position)
        if content or self.path.exists():
            try:
                write_atomically(self.path, content.encode())
            except FileError as error:
                raise TrainError(str(error)) from error

    def write(self, kind, **values):
        self._waiting.append(json.dumps({"kind": kind, **values}) + "\n")
        self._append()
        if self.board:
            self.board.write(kind, values)

    def sync(self):
        """All lines onto the disk, before a checkpoint that stands on them."""
        if self._append():
            with suppress(OSError), open(self.path, "r+b") as file:
                os.fsync(file.fileno())

    def close(self):
        self._append()
        if self.board:
            self.board.close()

    def _append(self):
        """Write the lines that wait, all or none. Is nothing waiting now?"""
        if not self._waiting:
            return True
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with open(self.path, "ab") as file:
                file.write("".join(self._waiting).encode())
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, size)         # half a line may have found room
            if not self._told:
                tell(f"{self.path} cannot be written ({error.strerror}); training goes on")
            self._told = True
            return False
        self._waiting, self._told = [], False
        return True
