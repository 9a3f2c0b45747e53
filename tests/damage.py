"""Damage files at random, then run what a user would run next: is each damage named, or without effect?

    python tests/damage.py [--count 1000] [--seed S] [--number I] [--kind KIND]

A number is a damage, a function of the seed and the number. A file, or two, of a corpus, a checkpoint, a run or a saved
model is changed: flipped, cut, extended, zeroed, swapped, replaced by another's, removed, made something else than a
file, or closed to its reader. Half of them meet a user without root. Then every command that reads the file runs, in a
process of its own that may take 20 seconds and 4 GB. Verdicts on a command:

    named       rc 2, or a typed error: one sentence, which names the file and what to do
    told        it named the file or the setting, and went on as recorded: to the same bits or from an earlier step
    harmless    its result is that of the undamaged file, bit for bit

and the faults: unnamed (refused, but the sentence lacks the file or what to do), silent, traceback, hang, crash. The
exit code is 1 if there was one. --number shows one damage, and all that the commands said.
"""

import argparse
import importlib
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # no thread survives a fork

from damage_files import damage
from damage_worlds import ACTIONS, CHANGING, COMMANDS, EARLIER, READING, Outcome, act, make
from forks import Printed, give_away, give_up_root, in_a_process

from minalbert import commands
from minalbert.data import shards

BITS = ("model.safetensors", "moments.safetensors", "step")
GOOD = ("named", "told", "harmless")
WAY_ON = re.compile(  # in the imperative, or as a command
    r"\b(again|remove|name|restore|copy|put|use|give|make|move|build|resumes?|train|keep|wait|chmod|the same command)\b"
    r"|--[a-z]|`minalbert|it must be (a|one|the) "
)
SECONDS, MEMORY = 20, 4 * 2**30


# A process for each damage, which may hang or crash.


def outcomes(world, actions, nobody=False):
    """Perform the actions there, and return a list of Outcome."""
    if nobody:
        give_away(world)
    lines, status = in_a_process(lambda pipe: perform_here(world, actions, nobody, pipe))
    found = [Outcome(*json.loads(line)) for line in lines]
    if status:
        by = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status >> 8}"
        found.append(Outcome([*actions, "the end"][len(found)], "hang" if by == "SIGALRM" else "crash", by, None))
    return found


def perform_here(world, actions, nobody, pipe):
    if nobody:
        give_up_root()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(world)
    if world.name == "pieces":
        shards.IN_MEMORY = 0  # its corpus counts as a large one, whose tokens stay in their files
    printed = Printed()
    for action in actions:
        signal.alarm(SECONDS)  # ends the process, wherever it is
        print(json.dumps(act(action, printed)), file=pipe, flush=True)


# Verdicts.


def verdict(damage, outcome, references):
    """Return (verdict, why). references: results of the undamaged world, and of its earlier checkpoints."""
    said, code = outcome.said.strip(), outcome.code
    named = names(damage, said)
    if code in (2, "typed"):
        fault = fault_of(outcome, said.splitlines(), named)
        return ("unnamed", f"{fault}: {said}") if fault else ("named", said)
    if code != 0:
        return (code if code in ("hang", "crash") else "traceback"), f"{code}: {said}"
    whole, *earlier = references[outcome.action]
    if outcome.result == whole:
        return "harmless", ""
    log, settings = (damage.paths[0].name == name for name in ("metrics.jsonl", "config.toml"))
    recorded = outcome.result in earlier or (log and without_lines(outcome.result) == without_lines(whole)) or settings
    if recorded and (named or (settings and "is now" in said)):
        return "told", said
    if outcome.result in earlier and damage.takes_away:
        return "harmless", ""
    return "silent", f"another result: {said}"


def names(damage, said):
    """Is there the file, or the directory of those that no longer belong together?"""
    of_several = not damage.what.startswith(("flip", "zero", "cut", "extend", "a "))
    places = [path.name for path in damage.paths] + [str(path.parent) for path in damage.paths if of_several]
    return any(place in said for place in places)


def fault_of(outcome, lines, named):
    """What a refusal lacks, or None."""
    command = COMMANDS.get(outcome.action, "")
    if not lines or (len(lines) > 1 and not command.startswith("pretrain")):
        return "not one sentence"
    if outcome.code == 2 and not lines[-1].startswith("minalbert "):
        return "not a sentence of minalbert"
    if not named:
        return "no file is named"
    return None if WAY_ON.search(lines[-1]) else "no way on"


def without_lines(result):
    """The bits of a run, without its log; of a log itself nothing."""
    return {
        name: value for name, value in result.items() if name in ("model.safetensors", "moments.safetensors", "step")
    }


# All of them.


class Harness:
    def __init__(self, place, seed, kinds):
        self.originals, self.copies, self.seed, self.kinds = place / "worlds", place / "copies", seed, kinds
        names, status = in_a_process(lambda pipe: print(*make(self.originals), file=pipe))
        assert status == 0, "no worlds could be made"
        self.names = names[0].split()
        self.references = {name: self.references_of(name) for name in self.names}

    def references_of(self, name):
        """{action: results} of the world, and without its newest checkpoints."""
        found = {}
        for removed in range(3):
            world = self.copy(name)
            for path in sorted(world.glob("run/step-*"))[3 - removed :]:
                shutil.rmtree(path)
            for outcome in outcomes(world, EARLIER if removed else [*READING, *CHANGING]):
                assert outcome.code == 0, outcome
                found.setdefault(outcome.action, []).append(outcome.result)
        return found

    def copy(self, name):
        if self.copies.exists():
            self.copies.chmod(0o755)
            shutil.rmtree(self.copies)
        self.copies.mkdir()
        return Path(shutil.copytree(self.originals / name, self.copies / name))

    def run(self, number):
        """Return (Damage, [(verdict, why) of each action])."""
        rng = random.Random(f"{self.seed} {number}")
        while True:
            done = damage(self.copy(rng.choice(self.names)), self.originals, self.kinds, rng)
            if done:
                break
        reads_log = done.paths[0].name == "metrics.jsonl" or done.what.startswith("mode")
        actions = [action for action in ACTIONS[done.kind] if action != "plot" or reads_log]  # a picture takes long
        found = outcomes(self.copies / done.world, actions, done.nobody)
        return done, [(one.action, *verdict(done, one, self.references[done.world])) for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="of damages; default: 1000")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--number", type=int, metavar="I", help="only this damage, with all that was said")
    parser.add_argument("--kind", choices=ACTIONS, help="whose files; default: all kinds")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    again = f"--seed {seed}{f' --kind {options.kind}' if options.kind else ''}"
    print(f"python tests/damage.py {again} --number I repeats damage I", flush=True)
    modules = [module.name for module in pkgutil.iter_modules(commands.__path__, "minalbert.commands.")]
    for name in (*modules, "matplotlib.backends.backend_svg"):
        importlib.import_module(name)  # once, and not in each process
    verdicts = Counter()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        harness, begin = Harness(Path(place), seed, [options.kind] if options.kind else [*ACTIONS]), time.monotonic()
        for number in range(options.count) if options.number is None else [options.number]:
            done, found = harness.run(number)
            for action, kind, why in found:
                verdicts[kind] += 1
                if kind not in GOOD or options.number is not None:
                    print(f"{number}: {done}: {action}: {kind}: {' | '.join(why.splitlines())}", flush=True)
    print(f"{sum(verdicts.values())} commands after {options.count} damages in {time.monotonic() - begin:.0f} s: "
          + ", ".join(f"{count} {kind}" for kind, count in verdicts.most_common()))  # fmt: skip
    return any(kind not in GOOD for kind in verdicts)


if __name__ == "__main__":
    sys.exit(main())
