"""A run on several ranks, by real ranks under mpiexec, is the run of one process: weights, moments and log."""

import signal
import time

import pytest
from ranks_of_mpi import finish, on_ranks, start, words
from small_run import computed, events, train

from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")

SCRIPT = "rank_run.py"
TROUBLE = {"spikes": "rollback", "spike_sigmas": 1.6, "spike_window": 8, "steps": 20, "every": 2}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone")
    train(run)
    return computed(run)


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_bits_are_those_of_one_process(tmp_path, alone, ranks):
    on_ranks(ranks, SCRIPT, tmp_path / "run", *words())
    assert computed(tmp_path / "run") == alone


def test_other_optimisers_kernels_and_clipping_have_the_bits_of_one_process(tmp_path):
    changes = {"optimiser": "adamw", "rate": 0.001, "clip": 0.0, "kernels": "compiled", "steps": 12}
    train(tmp_path / "alone", workers=1, **changes)
    on_ranks(2, SCRIPT, tmp_path / "run", *words(**changes))
    assert computed(tmp_path / "run") == computed(tmp_path / "alone")


def test_ranks_with_a_gpu_each_have_the_bits_of_one_process_with_a_gpu(tmp_path):
    """Pretended GPUs, which the kernels in CUDA C run on; without NCCL and with it."""
    found = []
    for ranks, gpu in ((1, "copied"), (2, "copied"), (2, "nccl"), (4, "nccl")):
        on_ranks(ranks, SCRIPT, tmp_path / f"{ranks}-{gpu}", *words(device="cuda", gpu=gpu, steps=8))
        found.append(computed(tmp_path / f"{ranks}-{gpu}"))
    assert found == found[:1] * 4


def test_ranks_go_back_together(tmp_path):
    train(tmp_path / "alone", **TROUBLE)
    on_ranks(2, SCRIPT, tmp_path / "run", *words(**TROUBLE))
    assert events(tmp_path / "run", "rolled back")
    assert computed(tmp_path / "run") == computed(tmp_path / "alone")


def test_stopped_and_resumed_by_another_number_of_ranks(tmp_path):
    changes = {"steps": 120, "every": 8, "log_every": 20, "evaluate_every": 50}
    train(tmp_path / "alone", **changes)
    run = tmp_path / "run"
    for ranks, number in ((2, signal.SIGTERM), (4, signal.SIGUSR1), (1, signal.SIGTERM)):
        process, before = start(ranks, SCRIPT, run, *words(**changes)), newest(run)
        while process.poll() is None and newest(run) < before + 8:
            time.sleep(0.01)
        process.send_signal(number)
        code, out, errors = finish(process)
        assert code == 75, out + errors
        assert before < newest(run) < changes["steps"]
    on_ranks(2, SCRIPT, run, *words(**changes))
    assert computed(run) == computed(tmp_path / "alone")


def test_ranks_with_other_data_are_refused_in_one_sentence(tmp_path):
    code, _, errors = finish(start(2, SCRIPT, tmp_path / "run", *words(documents=31)))
    assert (code, errors.count("\n")) == (2, 1), errors
    assert "on rank 1; it must be that of rank 0" in errors


@pytest.mark.parametrize("fault", ["error", "unread"])
def test_an_error_of_one_rank_ends_all(tmp_path, fault):
    code, _, errors = finish(start(2, SCRIPT, tmp_path / "run", *words(fault=fault)), 30)
    assert code != 0
    assert "minalbert: rank 1 ends all ranks: Traceback" in errors
    assert "ZeroDivisionError: a mistake in the code" in errors


def test_three_thousand_runs_have_groups_of_ranks():
    """MPICH has some two thousand communicators."""
    assert on_ranks(4, "rank_grids.py") == "[[11, 101], [11, 1010], [1100, 101], [1100, 1010]]\n"


def newest(run):
    return max(steps(run), default=0)
