"""Run a script of this directory on several ranks."""

import json
import os
import subprocess
import sys
from pathlib import Path

MPIEXEC = Path(sys.executable).with_name("mpiexec")
HERE = Path(__file__).parent


def environment(**more):
    paths = [str(HERE.parents[1]), str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"} | more


def command(count, script, *argv):
    return [MPIEXEC, "-n", str(count), sys.executable, HERE / script, *map(str, argv)]


def start(count, script, *argv):
    argv = command(count, script, *argv)
    return subprocess.Popen(argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def words(**changes):
    """Settings as rank_run.py takes them; one thread a rank, because ranks share the cores."""
    return [f"{name}={json.dumps(value)}" for name, value in ({"workers": 1} | changes).items()]


def finish(process, timeout=120):
    """(exit code, what was printed as output, as errors)"""
    try:
        out, errors = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, out, errors


def on_ranks(count, script, *argv):
    """What a script prints on so many ranks."""
    code, out, errors = finish(start(count, script, *argv))
    assert code == 0, out + errors
    return out
