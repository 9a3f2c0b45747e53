"""Twelve kills and preemptions, with another number of ranks at each start: the run is that of one process.

With the MPI of this environment, and with a second one where there is one: ranks_of_mpi.py says where it looks.
"""

import os
import random
import signal
import time

import pytest
from ranks_of_mpi import MPIS, finish, start, words
from small_run import computed, train

from minalbert.parallel.heartbeat import VARIABLE, heard
from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")
pytestmark = pytest.mark.slow

STRIKES = 12
RUN = {"steps": 400, "every": 4, "log_every": 20, "evaluate_every": 80}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone")
    train(run, **RUN)
    return computed(run)


def newest(run):
    return max(steps(run), default=0)


def struck(run, mpi, ranks, number, beats, delay):
    """Start, wait for two new checkpoints, and strike: SIGKILL to one rank, or a signal to the launcher."""
    before = newest(run)
    process = start(ranks, "rank_run.py", run, *words(**RUN), mpi=mpi, **{VARIABLE: str(beats)})
    while newest(run) < before + 8:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    time.sleep(delay)
    if number == signal.SIGKILL:
        os.kill(heard(beats, ranks - 1).process, number)
    else:
        process.send_signal(number)
    code, out, errors = finish(process)
    assert (code == 75) == (number != signal.SIGKILL), out + errors
    assert before + 8 <= newest(run) < RUN["steps"]


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_the_run_is_that_of_one_process_however_often_it_is_struck(tmp_path, alone, mpi):
    if mpi.missing:
        pytest.skip(mpi.missing)
    run, draw, used = tmp_path / "run", random.Random(0), set()
    for strike in range(STRIKES):
        ranks, number = draw.choice((1, 2, 4)), draw.choice((signal.SIGKILL, signal.SIGUSR1))
        beats = tmp_path / f"beats-{strike}"
        beats.mkdir()
        struck(run, mpi, ranks, number, beats, draw.uniform(0, 0.1))
        used.add((ranks, number))
    assert len(used) == 6, "each number of ranks, killed and preempted"
    code, out, errors = finish(start(2, "rank_run.py", run, *words(**RUN), mpi=mpi))
    assert code == 0, out + errors
    assert computed(run) == alone
