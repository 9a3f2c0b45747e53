"""What kills.py does to a run between two of its lives, and how it looks at checkpoints."""

import hashlib
import json
import re
import shutil
from pathlib import Path

EVERY, PACE = 5, 20  # steps between checkpoints, and at most of a life
EDITS = {"seed": "7", "batch": "16", "mask_fraction": "0.3", "max_length": "20", "optimiser": '"adamw"',
         "dtype": '"float64"', "hidden_size": "32"}  # fmt: skip
BITS = ("model.safetensors", "moments.safetensors")
RUN, STRANGER = Path("run"), Path("stranger")


class Faults:
    """Each returns what mends it after the next life, or the steps of it in which nothing can be written, or None."""

    def __init__(self, rng):
        self.rng = rng
        self.all = (self.settings, self.flipped, self.foreign, self.unreadable, self.full, self.log)

    def settings(self):
        path = RUN / "config.toml"
        before = path.read_text()
        name = self.rng.choice([*EDITS, "cut"])
        if name == "cut":
            path.write_text(before[: int(self.rng.random() * len(before))])
        else:
            path.write_text(re.sub(rf"(?m)^{name} = \S+", f"{name} = {EDITS[name]}", before))
        return lambda: path.write_text(before)

    def flipped(self):
        if sum(map(is_whole, checkpoints(RUN))) < 2:
            return
        path = checkpoints(RUN)[-1] / self.rng.choice([*BITS, "state.json", "config.json"])
        data = bytearray(path.read_bytes())
        data[int(self.rng.random() * len(data))] ^= 1 << self.rng.randrange(8)
        path.write_bytes(data)

    def foreign(self):
        name = f"step-{newest_whole(RUN) + EVERY:08d}"
        if (STRANGER / name).exists() and not (RUN / name).exists():
            shutil.copytree(STRANGER / name, RUN / name)
            return lambda: is_foreign(RUN / name) and shutil.rmtree(RUN / name)
        return None

    def unreadable(self):
        path = checkpoints(RUN)[0] / "state.json"
        if int(path.parent.name[5:]) >= newest_whole(RUN):
            return None
        if self.rng.random() < 0.5:
            path.chmod(0)
            return lambda: path.exists() and path.chmod(0o644)
        text = path.read_text()
        known = json.loads(text)["sha256"]
        text = text.replace('"format": ', '"format": 9', 1).replace(known, "0" * 64, 1)
        path.write_text(text.replace("0" * 64, hashlib.sha256(text.encode()).hexdigest(), 1))
        return None

    def full(self):
        first = self.rng.randrange(PACE)
        return range(first, first + self.rng.choice([EVERY, 10**9]))

    def log(self):
        path = RUN / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        place = self.rng.randrange(len(lines))
        bad = self.rng.choice([b"5\n", b"[]\n", b"{}\n", b"\xff\n", lines[place].replace(b'"kind"', b'"kinds"')])
        lines[place : place + self.rng.randrange(2)] = [bad]
        path.write_bytes(b"".join(lines))


# What lies on the disk, read without the program's own functions.


def checkpoints(run):
    return sorted(run.glob("step-*"))


def newest_whole(run):
    """The step of the newest checkpoint that is whole and this run's."""
    return max((int(path.name[5:]) for path in checkpoints(run) if is_whole(path)), default=-1)


def is_whole(path):
    try:
        text = (path / "state.json").read_text()
        note = json.loads(text)
        itself = hashlib.sha256(text.replace(note["sha256"], "0" * 64, 1).encode()).hexdigest()
        return (itself == note["sha256"] and '"format": 9' not in text and not is_foreign(path)
                and all(sha256(path / name) == record["sha256"] for name, record in note["files"].items()))  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_foreign(path):
    """It is the stranger's, whose weights are others at every step."""
    namesake, itself = STRANGER / path.name / BITS[0], path / BITS[0]
    return namesake.exists() and itself.exists() and sha256(namesake) == sha256(itself)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
