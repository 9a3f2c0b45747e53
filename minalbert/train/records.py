"""What a run writes down and reports: metrics.jsonl, milestones, and what a person sees.

metrics.jsonl has one line for each thing that happened, in the order in which it did.

    {"kind": "start", "unigram_entropy": 5.19, ...}        what the run is
    {"kind": "train", "step": 10, "loss": 7.9, ...}        every log_every steps
    {"kind": "eval",  "step": 250, "mlm_loss": 4.8, ...}   on held-out documents
    {"kind": "event", "step": 250, "event": "left the plateau", "text": ...}

Its "position" is the index of the next batch. A run that resumes from a checkpoint drops the lines that were written
after it: they will be written again, the same but for the clock's. A full disk stops no training: lines wait until
there is room.
"""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path

from ..errors import TrainError
from ..files import write_atomically
from .evaluation import Evaluation, evaluate
from .watch import milestones

FILE = "metrics.jsonl"
alert_by_log = logging.getLogger("minalbert").warning


class Observer:
    """Hears what a run reports. This one shows nothing, and logs what must not be missed; commands have another."""

    def begin(self, step, steps):
        """The run is at this step, of so many."""

    def message(self, text):
        """A sentence."""

    def alert(self, text):
        """A sentence that is shown even if nothing else is."""
        alert_by_log(text)

    def step(self, step, losses, tokens_per_second):
        """A step was made."""

    def evaluated(self, evaluation, step):
        """Held-out documents were scored."""

    def close(self):
        """The run ends."""


class Records:
    def __init__(self, metrics, observer, state, data, log_every, before=None):
        """`before`: the run's first evaluation, if it was made earlier."""
        self.metrics, self.observer, self.state, self.data, self.log_every = metrics, observer, state, data, log_every
        self.before, self.latest, self.evaluated = before, None, None     # evaluated: at which step
        observer.begin(state.step, state.steps)

    def close(self):
        self.observer.close()
        self.metrics.close()

    def write(self, kind, **values):
        self.metrics.write(kind, step=self.state.step, position=self.state.batch_index, **values)

    def event(self, event, text):
        self.write("event", event=event, text=text)
        step = self.state.step
        self.observer.message(f"step {step:,}: {text}" if step else text)

    def step(self, losses, norm, rate, ratios, tokens):
        """`tokens`: of text, a second."""
        if self.state.step % self.log_every == 0:
            trust = {"trust_ratios": {name: float(ratio) for name, ratio in ratios.items()}} if ratios else {}
            self.write("train", **losses, rate=rate, gradient_norm=norm, tokens_per_second=round(tokens),
                       seconds=round(self.state.seconds, 3), **trust)
        self.observer.step(self.state.step, losses, tokens)

    def evaluate(self):
        self.latest, self.evaluated = evaluate(self.state.model, self.data.held_out), self.state.step
        self.before = self.before or self.latest
        self.write("eval", **self.latest._asdict())
        self.observer.evaluated(self.latest, self.state.step)
        for event, text in milestones(self.latest, self.data.baselines, self.data.pairs):
            if event not in self.state.reached:
                self.state.reached.append(event)
                self.event(event, text)


def first_evaluation(run):
    """That of an earlier life of the run, or None."""
    lines = (line for line in read_lines(run) if line["kind"] == "eval")
    return next((Evaluation(*(line[name] for name in Evaluation._fields)) for line in lines), None)


def read_lines(run, broken=None):
    """Dicts. A last line that a kill cut short is left out. Others that cannot be read are an error, or if a list
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
                message = f"{path}:{number} is no line of metrics: {line[:60].decode(errors='replace')}"
                if broken is None:
                    raise TrainError(message) from None
                broken.append(f"{message}; it is left out")
    return found


class Metrics:
    def __init__(self, run, batch_index=0, fresh=True, board=None, alert=alert_by_log):
        """Keep the lines from before this batch; a fresh run keeps none."""
        self.path, self.board, self.broken, self.alert = Path(run) / FILE, board, [], alert
        self._waiting, self._alerted = [], False
        lines = [] if fresh else read_lines(run, self.broken)
        content = "".join(json.dumps(line) + "\n" for line in lines if line["position"] <= batch_index)
        if content or self.path.exists():
            write_atomically(self.path, content.encode())

    def write(self, kind, **values):
        self._waiting.append(json.dumps({"kind": kind, **values}) + "\n")
        self._append()
        if self.board:
            self.board.write(kind, values)

    def sync(self):
        """All lines onto the disk, before a checkpoint that relies on them."""
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
            if not self._alerted:
                self.alert(f"{self.path} cannot be written ({error.strerror}); training goes on")
            self._alerted = True
            return False
        self._waiting, self._alerted = [], False
        return True
