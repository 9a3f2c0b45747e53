"""`minalbert launch -n 4 pretrain RUN ...`: several processes train together, under a supervisor."""

import importlib.util
import os
import shutil
import subprocess
import sys
from argparse import REMAINDER
from pathlib import Path

from ..arguments import number, path_of, whole
from ..errors import ConfigError, MissingLibraryError
from ..files import exists, write_atomically
from ..parallel.slurm import batch_script
from ..parallel.supervisor import Supervisor
from ..train.process import give_back, take_signals
from ..train.saved_steps import steps
from . import finetune, parsed
from .options import settings_of

TRAINING = {"pretrain": settings_of, "finetune": finetune.settings_of}
MOST = 2**14                                         # ranks


def add_arguments(parser):
    parser.description = ("Train on several ranks: start them by mpiexec, watch over them, and start them again from "
                          "the newest checkpoint if one dies or hangs. Ctrl-C saves and stops; the same command, with "
                          "any number of ranks, resumes the run.")
    parser.usage = "minalbert launch -n RANKS [--patience SECONDS | --slurm FILE] pretrain RUN [any option of it]"
    parser.add_argument("-n", dest="ranks", type=int, default=2, metavar="RANKS", help="default: 2")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS",
                        help="a rank that says nothing for so long hangs; longer than a step and than a checkpoint "
                             "(default: 60)")
    parser.add_argument("--mpiexec", metavar="FILE", help="MPI's launcher; default: this environment's, or PATH's")
    parser.add_argument("--slurm", metavar="FILE", help="write a batch script for Slurm, and submit it")
    parser.add_argument("--sbatch", action="append", default=[], metavar="OPTION",
                        help="an option of it, as --sbatch=--time=8:00:00; may be given several times")
    parser.add_argument("command", nargs=REMAINDER, metavar="...", help=f"{' or '.join(TRAINING)}, and its options")


def run(options):
    whole("-n", options.ranks, 1, MOST, ConfigError)
    number("--patience", options.patience, above=0, error=ConfigError)
    if not options.command or options.command[0] not in TRAINING:
        raise ConfigError(f"the command is {' '.join(options.command[:1]) or 'missing'}; it must be one that trains: "
                          f"{', '.join(TRAINING)}")
    inner = parsed(options.command)                  # a mistake in it is reported once, and here
    program = [sys.executable, "-m", "minalbert", *options.command]
    if options.slurm:
        return in_queue(batch_script(supervised(options), options.ranks, options.sbatch),
                        path_of("--slurm", options.slurm))
    if options.sbatch:
        raise ConfigError(f"--sbatch is {options.sbatch[0]}, without --slurm FILE, whose script would have it")
    mpiexec = launcher(options.mpiexec)

    def start(count):
        return [mpiexec, "-n", str(count), *program]

    settings = TRAINING[options.command[0]](inner, inner.run)
    supervisor = Supervisor(start, lambda: max(steps(inner.run), default=-1), alert, options.patience,
                            settings.training.model_ranks)
    before = take_signals(supervisor.stop)
    try:
        return supervisor.run(options.ranks)
    finally:
        give_back(before)


def supervised(options):
    """The command that starts and watches over the ranks inside Slurm's job."""
    launch = [sys.executable, "-m", "minalbert", "launch", "-n", str(options.ranks), "--patience",
              f"{options.patience:g}", "--mpiexec", options.mpiexec or "srun"]
    return [*launch, *options.command]


def in_queue(script, path):
    """Write a batch script, and submit it where Slurm is."""
    if exists(path, "name another file"):
        raise ConfigError(f"--slurm is {path}, which is there already: submit it with sbatch, or name another file")
    write_atomically(path, script.encode())
    if shutil.which("sbatch") is None:
        print(f"wrote {path}; there is no sbatch here to submit it with: `sbatch {path}` does it on the cluster")
        return 0
    return subprocess.run(["sbatch", str(path)]).returncode


def launcher(given):
    """The path of mpiexec."""
    if os.name == "nt":
        raise ConfigError("the system is Windows; launch needs Linux or macOS, whose signals it uses")
    if importlib.util.find_spec("mpi4py") is None:
        raise MissingLibraryError("mpi4py is not installed: pip install 'minalbert[mpi]'")
    beside = Path(sys.executable).with_name("mpiexec")
    found = shutil.which(given) if given else shutil.which(beside) or shutil.which("mpiexec")
    if not found:
        raise MissingLibraryError(f"{given or 'mpiexec'} is not found; pip install 'minalbert[mpi]' brings MPICH's, or "
                                  "name another with --mpiexec")
    return found


def alert(text):
    print(f"minalbert launch: {text}", file=sys.stderr, flush=True)
