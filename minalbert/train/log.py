"""The log of a run, metrics.jsonl: one line for each thing that happened, in the order in which it did.

    {"kind": "start", "unigram_entropy": 5.19, ...}        what the run is; "run" is its identity
    {"kind": "train", "step": 10, "loss": 7.9, ...}        every log_every steps
    {"kind": "eval",  "step": 250, "mlm_loss": 4.8, ...}   on held-out documents
    {"kind": "event", "step": 250, "event": "left the plateau", "text": ...}

In each, "position" is the index of the next batch. A run that resumes from a checkpoint drops the lines that were
written after it: they will be written again, the same but for the clock's. A log never stops a training: on a full disk
lines wait until there is room, and what is no line of metrics is put aside, in a file damaged-metrics.jsonl.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from .. import files
from ..arguments import path_of
from ..errors import FileError, MissingFileError, TrainError
from ..files import Record, rename_aside, write_atomically
from .records import alert_by_log

FILE = "metrics.jsonl"


def first_evaluation(run, scores):
    """The scores of the run's first test, or None. scores: the class of these records."""
    lines = (line for line in sound_lines(run) if line["kind"] == "eval" and line.keys() >= {*scores._fields})
    return next((scores(*(line[name] for name in scores._fields)) for line in lines), None)


def owner_of(run):
    """The identity of the run that wrote a log, or None."""
    return next((line["run"] for line in sound_lines(run) if "run" in line), None)


def read_lines(run):
    """The log's lines, as dicts. A last line that a kill cut short is left out; another bad line is an error."""
    run, found, advice = path_of("run", run, TrainError), [], f"`minalbert pretrain {run}` puts it aside"
    try:
        content = files.read(Path(run) / FILE, advice)
    except MissingFileError:
        return []
    for number, (line, parsed) in enumerate(lines_in(content), 1):
        if parsed is None:
            raise TrainError(f"{Path(run) / FILE}:{number} is no line of metrics: "
                             f"{line[:60].decode(errors='replace')}; {advice}")
        found.append(parsed)
    return found


def sound_lines(run):
    """The lines that a run of ours wrote."""
    try:
        return [parsed for _, parsed in lines_in(files.read(Path(run) / FILE, "")) if is_sound(parsed)]
    except FileError:
        return []


def lines_in(content):
    """Yield (bytes, dict or None if it is no line of metrics), without a last line that a kill cut short."""
    *lines, last = content.split(b"\n")
    if parse(last):                                  # an editor took its end away
        lines.append(last)
    return ((line, parse(line)) for line in lines)


def differs(content, written):
    """Does a log begin with other bytes than when a checkpoint was saved? written: what the checkpoint recorded."""
    return bool(written) and record(content[: written["size"]])._asdict() != written


def record(content):
    """The Record of a log's bytes."""
    return Record(len(content), hashlib.sha256(content).hexdigest())


def parse(line):
    """A line as a dict; None if it is no line of metrics."""
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    named = isinstance(found, dict) and isinstance(found.get("kind"), str)
    return found if named and is_count(found.get("step")) else None


def is_sound(line):
    """Does a line have all that a resuming run reads of it? line: a dict or None."""
    if not line or not is_count(line.get("position")) or not isinstance(line.get("run", ""), str):
        return False
    scores = [value for name, value in line.items() if name not in ("kind", "step", "position")]
    return line.get("kind") != "eval" or (scores != [] and all(map(is_score, scores)))


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_score(value):
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


class Metrics:
    def __init__(self, run, batch_index=0, fresh=True, board=None, alert=alert_by_log, owner=None, written=None):
        """Keep the lines from before this batch; a fresh run keeps none.

        owner      the run's identity
        written    what the checkpoint recorded of the log
        """
        self.path, self.board, self.broken, self.alert = Path(run) / FILE, board, [], alert
        self._waiting, self._alerted, self._content, self._written = [], False, None, hashlib.sha256()
        lines = [] if fresh else self._sound_lines(owner, written)
        self._size, content = 0, "".join(json.dumps(line) + "\n" for line in lines if line["position"] <= batch_index)
        if content or os.path.lexists(self.path):
            self._content = content                  # takes the file's place
            self._append()

    def _sound_lines(self, owner, written):
        """The lines that are there. What is no line is put aside; self.broken gets a sentence about it."""
        try:
            content = files.read(self.path, "")
        except MissingFileError as fault:
            self.broken.append(f"{fault}; a new log begins")
            return []
        except FileError as fault:                   # a directory or a pipe, or what we may not read
            self.broken.append(f"{fault}; {rename_aside(self.path, 'damaged')}, and a new log begins")
            return []
        found = list(lines_in(content))
        sound = [*{line: parsed for line, parsed in found if is_sound(parsed)}.values()]     # a doubled line once
        if owner and (writer := next((line["run"] for line in sound if "run" in line), owner)) != owner:
            self.broken.append(f"{self.path} is the log of another run ({writer}; this one is {owner}); "
                               f"{rename_aside(self.path, 'foreign')}, and a new log begins")
            return []
        if bad := [line for line, parsed in found if not is_sound(parsed)]:
            self._put_aside(bad)
        elif differs(content, written):
            self.broken.append(f"{self.path} is not what was written there until the checkpoint; what can be read of "
                               "it is kept")
        return sound

    def _put_aside(self, lines):
        place = self.path.with_name(f"damaged-{FILE}")
        these = f"lines of {self.path} that are no metrics: {len(lines):,}"
        try:
            with open(place, "ab") as file:
                file.write(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            self.broken.append(f"{these}, and {place.name}, their new place, cannot be written ({error.strerror})")
        else:
            self.broken.append(f"{these}, now in {place.name}")

    def write(self, kind, **values):
        self._waiting.append(json.dumps({"kind": kind, **values}) + "\n")
        self._append()
        if self.board:
            self.board.write(kind, values)

    def sync(self):
        """All lines onto the disk, before a checkpoint that relies on them. Returns the Record of the file."""
        if self._append():
            with suppress(OSError), open(self.path, "r+b") as file:
                os.fsync(file.fileno())
        return Record(self._size, self._written.hexdigest())

    def close(self):
        self._append()
        if self.board:
            self.board.close()

    def _append(self):
        """Write the lines that wait, all or none. Returns whether none waits now."""
        if not self._waiting and self._content is None:
            return True
        data = "".join([self._content or "", *self._waiting]).encode()
        try:
            if self._content is None:
                append(self.path, data)
            else:
                write_atomically(self.path, data)
        except (OSError, FileError) as error:
            if not self._alerted:
                error = error.__cause__ or error     # the system's own, not a sentence within the sentence
                cause = getattr(error, "strerror", None) or error
                self.alert(f"{self.path} cannot be written ({cause}); training goes on")
            self._alerted = True
            return False
        self._waiting, self._alerted, self._content, self._size = [], False, None, self._size + len(data)
        self._written.update(data)
        return True


def append(path, data):
    """Write at a file's end, all or nothing."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with open(path, "ab") as file:
            file.write(data)
    except OSError:
        with suppress(OSError):
            os.truncate(path, size)                  # half a line may have found room
        raise
