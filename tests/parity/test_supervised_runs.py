"""Six ways in which a job of several processes hangs, or seems to succeed: each ends, and the run is none the worse."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from ranks_of_mpi import HERE, command, environment, finish, words
from small_run import computed, train

from minalbert.parallel.supervisor import Supervisor
from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")
pytestmark = pytest.mark.slow

STEPS = {"steps": 20, "evaluate_every": 10}
PATIENCE = 12


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone")
    train(run, **STEPS)
    return computed(run)


@pytest.fixture(autouse=True)
def paths(monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


def supervised(run, said, count=2, mpiexec=None, **changes):
    """A Supervisor of the small run."""

    def start(count):
        argv = command(count, "rank_run.py", run, *words(**STEPS | changes))
        return [mpiexec or argv[0], *argv[1:]]

    return Supervisor(start, lambda: max(steps(run), default=-1), said.append, PATIENCE)


CAUSES = {
    "error": "rank 1 met an error; starting again on 2 ranks",
    "killed": "was killed, or left without a word; starting again on 2 ranks",
    "left": "was killed, or left without a word; starting again on 2 ranks",
    "stuck": "rank 1 has said nothing for 12 s; starting again on 2 ranks",
}


@pytest.mark.parametrize("fault", CAUSES)
def test_a_rank_that_fails_is_named_and_all_start_again(tmp_path, alone, fault):
    said = []
    assert supervised(tmp_path / "run", said, fault=fault).run(2) == 0
    assert len(said) == 1
    assert CAUSES[fault] in said[0]
    assert computed(tmp_path / "run") == alone


def test_a_launcher_that_hangs_after_its_ranks_is_killed(tmp_path, alone):
    """It hears no signal but SIGKILL."""
    half_dead = tmp_path / "mpiexec"
    half_dead.write_text(f"#!/bin/sh\ntrap '' TERM USR1\n{command(1, '')[0]} \"$@\"\nsleep 1000\n")
    half_dead.chmod(half_dead.stat().st_mode | stat.S_IXUSR)
    assert supervised(tmp_path / "run", [], mpiexec=half_dead).run(2) == 0
    assert computed(tmp_path / "run") == alone


def test_a_supervisor_that_is_asked_to_stop_has_the_ranks_save(tmp_path):
    run, said = tmp_path / "run", []
    supervisor = supervised(run, said, steps=2000)

    def ask():
        while not max(steps(run), default=0):
            time.sleep(0.02)
        supervisor.stop(signal.SIGTERM)

    asking = threading.Thread(target=ask)
    asking.start()
    assert supervisor.run(2) == 75
    asking.join()
    assert said == []
    assert 0 < max(steps(run)) < 2000


def test_two_worlds_of_one_process_are_refused(tmp_path):
    """The launcher of another MPI, as far as these processes can see."""
    argv = [sys.executable, HERE / "rank_run.py", tmp_path / "run", *words(**STEPS)]
    one = subprocess.Popen(argv, env=os.environ | {"PMI_SIZE": "2"}, stderr=subprocess.PIPE, text=True)
    code, _, errors = finish(one, 60)
    assert (code, errors.count("\n")) == (2, 1)
    assert "has started 2 processes (PMI_SIZE), but MPICH" in errors
    assert not (tmp_path / "run").exists()
