"""Run a script on several ranks: `output = on_ranks(2, "rank_sums.py")`."""

import os
import subprocess
import sys
from pathlib import Path

MPIEXEC = Path(sys.executable).with_name("mpiexec")
HERE = Path(__file__).parent


def environment(**more):
    paths = [str(HERE.parents[1]), str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"} | more


def on_ranks(count, script, *argv, timeout=120):
    """What a script of this directory prints on so many ranks."""
    argv = [MPIEXEC, "-n", str(count), sys.executable, HERE / script, *map(str, argv)]
    done = subprocess.run(argv, env=environment(), capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
