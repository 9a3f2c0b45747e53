"""Two hosts, as network namespaces: runs over their link, which may be cut, have the bits of one process."""

import sys

import pytest
from ranks_of_mpi import HERE, MPIEXEC, environment, words
from small_run import computed, train
from two_hosts import two_hosts, why_not

from minalbert.parallel.supervisor import Supervisor
from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")
pytestmark = pytest.mark.slow

STEPS = {"steps": 20, "evaluate_every": 10}
PATIENCE = 15


@pytest.mark.parametrize("fault", [None, "cut"])
def test_a_link_that_is_cut_ends_the_attempt_and_not_the_run(tmp_path, monkeypatch, fault):
    if reason := why_not():
        pytest.skip(reason)
    run, said = tmp_path / "run", []
    train(tmp_path / "alone", **STEPS)
    changes = STEPS | ({"fault": fault} if fault else {})
    with two_hosts(tmp_path, "1gbit") as hosts:
        for name, value in environment(**hosts.environment).items():
            monkeypatch.setenv(name, value)

        def start(count):
            hosts.link("up")
            return hosts.mpiexec(MPIEXEC, count, sys.executable, HERE / "rank_run.py", run, *words(**changes))

        assert Supervisor(start, lambda: max(steps(run), default=-1), said.append, PATIENCE).run(2) == 0
    assert len(said) == (1 if fault else 0)
    assert all("has said nothing for 15 s; starting again on 2 ranks" in sentence for sentence in said)
    assert computed(run) == computed(tmp_path / "alone")
