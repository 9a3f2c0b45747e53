"""Kill a training run again and again, with faults in between: no step that was saved is lost.

    python tests/kills.py [--kills 100] [--seed S]

Each life of the run ends at a random instant, by SIGKILL or by a signal that asks it to save. Before some there is a
fault:

    settings    config.toml altered, or cut short       refused in a sentence until it is mended, or without effect
    flipped     a bit in the newest checkpoint          the one before is resumed from
    foreign     another run's checkpoint, of a later    refused until it is gone, or put aside
                step
    unreadable  an older checkpoint, closed to its      newer ones are saved all the same
                reader or of a later format
    full        nothing can be written for some steps   saved when it can be, or said
    log         lines of metrics.jsonl altered, added   training goes on

After each life the newest checkpoint that is whole is not older than before; after a signal it is that of the last
step. At the end weights and moments are those of a run that was left in peace, bit for bit. Root is given up.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # no thread survives a fork

import small_run

from minalbert.commands import main as minalbert
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.train import loop

NOBODY = 65534
EVERY, PACE, SECONDS = 5, 20, 120  # steps between checkpoints, steps of a life at most, seconds that it may take
SETTINGS = {"every": EVERY, "evaluate_every": 50, "log_every": 1, "batch": 8, "micro_batch": 4, "workers": 1,
            "evaluate_instances": 16, "corpus": "corpus"}  # fmt: skip
EDITS = {"seed": "7", "batch": "16", "mask_fraction": "0.3", "max_length": "20", "optimiser": '"adamw"',
         "dtype": '"float64"', "hidden_size": "32"}  # fmt: skip
SIGNALS = {signal.SIGKILL: -9, signal.SIGTERM: 75, signal.SIGINT: 130}  # and the code that a life ends with
BITS = ("model.safetensors", "moments.safetensors")
RUN, STRANGER = Path("run"), Path("stranger")


class Life:
    """`minalbert pretrain` in a process of its own, which reports each step."""

    def __init__(self, *argv, full=range(0)):
        """full: the steps of this life in which nothing can be written."""
        (reports, report), (said, say) = os.pipe(), os.pipe()
        self.process = os.fork()
        if not self.process:
            sys.stdout, sys.stderr = (os.fdopen(handle, "w") for handle in (os.open(os.devnull, os.O_WRONLY), say))
            os._exit(live(["pretrain", *argv], report, full))
        os.close(report)
        os.close(say)
        self.reports, self.said = os.fdopen(reports, "rb", buffering=0), os.fdopen(said, errors="replace")
        self.last = 0

    def wait(self, steps):
        """For so many steps, or the end."""
        while steps and (step := self.reports.read(8)):
            self.last, steps = int.from_bytes(step, "little"), steps - 1

    def end(self):
        """Return (exit code or minus a signal, the last step or 0, what was said)."""
        said = self.said.read()
        self.wait(10**9)
        self.reports.close()
        self.said.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1]), self.last, said


def live(argv, report, full):
    try:
        signal.alarm(SECONDS)
        next_step, count = loop.Trainer.next_step, 0

        def reported(trainer):
            nonlocal count
            limit = 0 if count in full else resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            made, count = next_step(trainer), count + 1
            os.write(report, trainer.state.step.to_bytes(8, "little"))
            return made

        loop.Trainer.next_step = reported
        return minalbert(argv)
    except SystemExit as exit:
        return exit.code
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stderr.flush()


# Faults. Each returns (what mends it after the next life, or None; steps in which nothing can be written).


class Faults:
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
        if path.parent == checkpoints(RUN)[-1]:
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


# All lives of a run.


class Trial:
    def __init__(self, kills, seed):
        self.rng, self.kills, self.counts = random.Random(seed), kills, Counter()
        self.faults = Faults(self.rng)

    def prepare(self):
        """A run that is left in peace, and a stranger, which keeps all its checkpoints."""
        worlds = TinyWorlds(seed=1)
        tokenizer = WordTokenizer(worlds.words())
        build(story_sources(worlds, 40, 20), tokenizer, "corpus")
        for seed, name, keep in ((0, "whole", 3), (1, str(STRANGER), 10**6)):
            settings = small_run.small_settings(
                **SETTINGS, vocab_size=tokenizer.vocab_size, steps=self.kills * (PACE + 5), seed=seed, keep=keep
            )
            Path(f"{name}.toml").write_text(settings.toml())
            code, _, said = Life(name, "--config", f"{name}.toml").end()
            assert code == 0, said

    def run(self):
        code, _, said = self.first_life()
        while self.counts["kills"] < self.kills:
            self.life()
        code, _, said = Life(str(RUN)).end()
        assert code == 0, said
        ends = [checkpoints(run)[-1] for run in (RUN, Path("whole"))]
        assert ends[0].name == ends[1].name
        for name in BITS:
            assert sha256(ends[0] / name) == sha256(ends[1] / name), f"{name} has other bits in the end"

    def first_life(self):
        life = Life(str(RUN), "--config", "whole.toml")
        life.wait(2 * EVERY + 2)
        os.kill(life.process, signal.SIGKILL)
        return life.end()

    def life(self):
        fault = self.rng.choice([None, *self.faults.all])
        found, name = fault and fault(), fault.__name__ if fault else "none"
        mend, full = (found, range(0)) if not isinstance(found, range) else (None, found)
        saved, number = newest_whole(RUN), self.rng.choice([*SIGNALS])
        life = Life(str(RUN), full=full)
        life.wait(self.rng.randint(1, PACE))
        time.sleep(0.01 * self.rng.random())
        os.kill(life.process, number)  # it waits to be waited for, even if it has ended
        code, last, said = life.end()
        if mend:
            mend()
        newest = newest_whole(RUN)
        story = (f"life {self.counts.total()}, {name}, {number.name}: step {saved} to {last}, code {code}, "
                 f"step {newest} is the newest checkpoint: {said}")  # fmt: skip
        assert "Traceback" not in said, story
        assert newest >= saved, story
        if code == SIGNALS[number]:
            assert number == signal.SIGKILL or newest >= last, story
            self.counts["kills"] += 1
        else:
            assert (code, name) in ((2, "settings"), (2, "foreign"), (2, "full")), story
            assert said.splitlines()[-1].startswith("minalbert pretrain: "), story
            self.counts["refused"] += 1
        self.counts[name] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        if os.getuid() == 0:
            os.chown(place, NOBODY, NOBODY)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os.chdir(place)
        trial = Trial(options.kills, seed)
        trial.prepare()
        trial.run()
    print(f"no step was lost: {', '.join(f'{count} {name}' for name, count in trial.counts.most_common())}")


if __name__ == "__main__":
    sys.exit(main())
