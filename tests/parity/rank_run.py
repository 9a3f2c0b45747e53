"""On each rank: train the run of small_run.py, `mpiexec -n 2 python rank_run.py RUN [setting=value ...]`.

documents=31     gives the other ranks another corpus than rank 0
fault="killed"   strikes rank 1 before step 10, once in a run's life: a function of Faults
gpu="nccl"       pretends a GPU for each rank, with NCCL; "copied": without
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from small_run import small_corpus, small_settings
from two_hosts import WIRE

from minalbert.commands import fail
from minalbert.commands.on_ranks import on_ranks
from minalbert.commands.progress import Progress
from minalbert.errors import MinalbertError
from minalbert.train import loop, pretrain

STEP = 10


class Faults:
    @staticmethod
    def error():
        raise ZeroDivisionError("a mistake in the code")

    @staticmethod
    def unread():
        """An error while the launcher of this host reads nothing for half a second."""
        subprocess.Popen(["sh", "-c", f"sleep .5; kill -CONT {os.getppid()}"])
        os.kill(os.getppid(), signal.SIGSTOP)
        Faults.error()

    @staticmethod
    def killed():
        os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def left():
        os._exit(0)

    @staticmethod
    def stuck():
        """Answers no more, as one behind a cut link."""
        os.kill(os.getpid(), signal.SIGSTOP)

    @staticmethod
    def cut():
        """The link to the other host is cut; two_hosts.py has such hosts."""
        subprocess.run(["ip", "link", "set", WIRE, "down"], check=True)


def strike(fault, run):
    """Let it happen in the middle of a step."""
    step_of = loop.Trainer.next_step

    def next_step(trainer):
        struck = run / "struck"
        if trainer.ranks.rank == 1 and trainer.state.step == STEP and not struck.exists():
            struck.touch()
            getattr(Faults, fault)()
        return step_of(trainer)

    loop.Trainer.next_step = next_step


def main():
    place, *changes = sys.argv[1:]
    changes = {name: json.loads(value) for name, _, value in (change.partition("=") for change in changes)}
    other, fault, gpu = changes.pop("documents", 30), changes.pop("fault", None), changes.pop("gpu", None)
    if fault:
        strike(fault, Path(place))

    def work(ranks):
        corpus = small_corpus(other if ranks.rank else 30)
        return pretrain(small_settings(**changes), Path(place), corpus, observer=Progress(quiet=True), ranks=ranks).code

    try:
        with importlib.import_module("fake_nccl").pretended_gpu(gpu) if gpu else nullcontext():
            return on_ranks(work)
    except MinalbertError as error:
        return fail("rank_run.py", error)


if __name__ == "__main__":
    sys.exit(main())
