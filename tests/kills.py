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
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # no thread survives a fork

import small_run
from forks import give_away, give_up_root
from kill_faults import BITS, EVERY, PACE, RUN, STRANGER, Faults, checkpoints, newest_whole, sha256

from minalbert.commands import main as minalbert
from minalbert.commands import pretrain  # noqa: F401  while all libraries can be read
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.train import loop

SECONDS = 120  # that a life may take
SETTINGS = {"every": EVERY, "evaluate_every": 50, "log_every": 1, "batch": 8, "micro_batch": 4, "workers": 1,
            "evaluate_instances": 16, "corpus": "corpus"}  # fmt: skip
SIGNALS = {signal.SIGKILL: -9, signal.SIGTERM: 75, signal.SIGINT: 130}  # and the code that a life ends with


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
        lost = "what was trained since is lost" in said  # with 75, too
        if code == SIGNALS[number] and not lost:
            assert number == signal.SIGKILL or newest >= last, story
            self.counts["kills"] += 1
        else:
            assert (code, name) in ((2, "settings"), (2, "foreign"), (75, "full")), story
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
        give_away(Path(place))
        give_up_root()
        os.chdir(place)
        trial = Trial(options.kills, seed)
        trial.prepare()
        trial.run()
    print(f"no step was lost: {', '.join(f'{count} {name}' for name, count in trial.counts.most_common())}")


if __name__ == "__main__":
    sys.exit(main())
