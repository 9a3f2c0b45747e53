"""`minalbert launch --slurm` on a real Slurm: what it preempts, kills or stops ends with the bits of one process.

For a cluster of a node or more that this user may submit to; a node of two processors, made for this, is enough.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from ranks_of_mpi import environment
from small_run import computed, events

from minalbert.commands import main
from minalbert.parallel.heartbeat import heard
from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")
pytestmark = pytest.mark.slow

SMALL = ["--steps", "600", "--every", "10", "--log-every", "50", "--evaluate-every", "300", "--batch", "8"]
SMALL += ["--micro-batch", "2", "--workers", "1", "--hidden-size", "16", "--num-attention-heads", "2"]
SMALL += ["--intermediate-size", "32", "--num-hidden-layers", "2", "--max-length", "24", "--evaluate-instances", "40"]
QUEUED = 300  # seconds: Slurm lets a job wait for two minutes before it starts again


def why_not():
    """Why no job can be submitted here; None if one can."""
    if shutil.which("sinfo") is None:
        return "Slurm is not there: no sinfo in PATH"
    asked = asked_of("sinfo", "--noheader", "--format=%t")
    return None if asked.returncode == 0 and asked.stdout else f"sinfo finds no cluster: {asked.stderr.strip()}"


def asked_of(*argv):
    return subprocess.run(argv, capture_output=True, text=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a corpus, and a run of one process."""
    if reason := why_not():
        pytest.skip(reason)
    place = tmp_path_factory.mktemp("slurm")
    assert main(["data", "build", "--tiny-worlds", "60", "--out", str(place / "corpus")]) == 0
    assert main(["pretrain", str(place / "alone"), "--corpus", str(place / "corpus"), *SMALL]) == 0
    return place


@pytest.fixture
def submitted(place, tmp_path, monkeypatch):
    """submit(options of sbatch) -> the job's number; it trains into tmp_path / "run"."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    jobs = []

    def submit(*options, patience=20):
        before = set(all_jobs())
        argv = ["launch", "-n", "2", "--patience", str(patience), "--slurm", "job.sh", "--sbatch=--output=said"]
        argv += [f"--sbatch={option}" for option in options]
        assert main([*argv, "pretrain", "run", "--corpus", str(place / "corpus"), *SMALL]) == 0
        (job,) = set(all_jobs()) - before
        jobs.append(job)
        return job

    yield submit
    for job in jobs:
        asked_of("scancel", job)


def all_jobs():
    return asked_of("squeue", "--noheader", "--format=%i", "--user", str(os.geteuid())).stdout.split()


def wait_until(happened, seconds=QUEUED):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, asked_of("squeue").stdout + Path("said").read_text()
        time.sleep(0.05)


def newest(run):
    return max(steps(run), default=0)


def test_a_run_that_is_asked_to_stop_and_then_loses_a_rank(submitted, place, tmp_path):
    run, job = tmp_path / "run", submitted()
    wait_until(lambda: newest(run) >= 20)
    asked_of("scancel", "--signal=USR1", job)
    wait_until(lambda: events(run, "resumed"))
    before = newest(run)
    wait_until(lambda: newest(run) >= before + 20)
    (beats,) = tmp_path.glob(".minalbert-heartbeat-*")
    os.kill(heard(beats, 1).process, signal.SIGKILL)
    wait_until(lambda: job not in all_jobs())
    said = (tmp_path / "said").read_text()
    assert len(events(run, "resumed")) == 2, said
    assert re.search("minalbert launch: rank 1 .*; starting again on 2 ranks", said), said
    assert computed(run) == computed(place / "alone")


def test_a_run_that_reaches_its_time_limit_waits_in_the_queue_again(submitted, tmp_path):
    """A minute is the shortest limit, and Slurm may ask up to a minute early."""
    run, job = tmp_path / "run", submitted("--time=2", "--signal=B:USR1@115")
    wait_until(lambda: events(run, "resumed") or newest(run) == 600)
    assert events(run, "resumed"), (tmp_path / "said").read_text()
    assert job in all_jobs()
