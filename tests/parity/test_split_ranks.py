"""Real ranks that share a model, under mpiexec: the run of one process, in any layout, and a command."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import small_task
from ranks_of_mpi import MPIEXEC, environment, finish, on_ranks, start, words
from small_run import computed, train

from minalbert.parallel.heartbeat import VARIABLE, heard
from minalbert.train import checkpoint
from minalbert.train.saved_steps import steps

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")

SCRIPT, TASK_SCRIPT = "rank_run.py", "../small_task.py"
CHANGES = {"dtype": "float64", "steps": 24}


def vectors(run):
    _, state, _, _ = checkpoint.load(run)
    return [vector.flat for vector in (state.params, *state.moments)]


def assert_close(run, other):
    """After steps that each began from the one before: rounding has grown, from 1e-15."""
    for found, right in zip(vectors(run), vectors(other), strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-10 * np.abs(right).max())


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone")
    train(run, **CHANGES)
    return run


def test_a_row_and_a_grid_make_the_steps_of_one_process_and_have_the_same_bits(tmp_path, alone):
    for ranks in (2, 4):
        on_ranks(ranks, SCRIPT, tmp_path / str(ranks), *words(model_ranks=2, **CHANGES))
        assert_close(tmp_path / str(ranks), alone)
    assert computed(tmp_path / "2") == computed(tmp_path / "4")


def test_ranks_with_a_gpu_each_share_a_model_as_ranks_without(tmp_path):
    runs = [tmp_path / f"{ranks}-{gpu}" for ranks, gpu in ((1, "copied"), (2, "copied"), (2, "nccl"), (4, "nccl"))]
    for run in runs:
        ranks, gpu = run.name.split("-")
        changes = CHANGES | {"device": "cuda", "gpu": gpu, "model_ranks": min(int(ranks), 2), "steps": 8}
        on_ranks(ranks, SCRIPT, run, *words(**changes))
    alone, row, *others = runs
    assert_close(row, alone)
    assert [computed(run) for run in others] == [computed(row)] * 2


def test_a_stopped_run_resumes_in_any_layout(tmp_path):
    changes = {"dtype": "float64", "steps": 120, "every": 8, "log_every": 20, "evaluate_every": 50}
    train(tmp_path / "alone", **changes)
    run = tmp_path / "run"
    for ranks, model_ranks, number in ((2, 2, signal.SIGTERM), (1, 1, signal.SIGTERM), (4, 2, signal.SIGUSR1)):
        process, before = start(ranks, SCRIPT, run, *words(model_ranks=model_ranks, **changes)), newest(run)
        while process.poll() is None and newest(run) < before + 8:
            time.sleep(0.01)
        process.send_signal(number)
        code, out, errors = finish(process)
        assert code == 75, out + errors
        assert before < newest(run) < changes["steps"]
    on_ranks(2, SCRIPT, run, *words(model_ranks=2, **changes))
    assert_close(run, tmp_path / "alone")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data") / "corpus"
    call = [sys.executable, "-m", "minalbert", "data", "build", "--tiny-worlds", "40", "--out", directory]
    subprocess.run(call, env=environment(), check=True, capture_output=True)
    return directory


def pretrain(ranks, run, corpus, *more):
    """mpiexec -n RANKS minalbert pretrain RUN --model-ranks 2"""
    call = [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "minalbert", "pretrain", run, "--corpus", corpus,
            "--model-ranks", "2", "--steps", "2", "--evaluate-instances", "16", *more]  # fmt: skip
    return subprocess.run(call, env=environment(), capture_output=True, text=True, timeout=120)


def test_the_command_trains_a_grid(tmp_path, corpus):
    ended = pretrain(4, tmp_path / "run", corpus)
    assert ended.returncode == 0, ended.stderr
    assert newest(tmp_path / "run") == 2


@pytest.mark.parametrize(("ranks", "more", "sentence"), [
    (3, [], "model_ranks is 2; the number of ranks, which mpiexec -n gives, must be a multiple of it, and is 3"),
    (2, ["--num-attention-heads", "1"], "model_ranks is 2; num_attention_heads, which is 1, must be a multiple of it"),
])  # fmt: skip
def test_the_command_refuses_in_one_sentence(tmp_path, corpus, ranks, more, sentence):
    ended = pretrain(ranks, tmp_path / "run", corpus, *more)
    assert (ended.returncode, ended.stderr) == (2, f"minalbert pretrain: {sentence}\n")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_task.small_place(tmp_path_factory.mktemp("place"))


@pytest.mark.parametrize("files", ["before", "next", "spans1"])
def test_a_fine_tuning_in_a_row_and_a_grid_is_that_of_one_process(tmp_path, place, files):
    changes = {"dtype": "float64", "files": files}
    small_task.train(tmp_path / "alone", place, workers=1, **changes)
    for ranks in (2, 4):
        on_ranks(ranks, TASK_SCRIPT, tmp_path / str(ranks), place, *words(model_ranks=2, **changes))
        assert_close(tmp_path / str(ranks), tmp_path / "alone")
    assert computed(tmp_path / "2") == computed(tmp_path / "4")


def test_a_fine_tuning_that_loses_a_rank_resumes_in_any_layout(tmp_path, place):
    changes = {"dtype": "float64", "steps": 200, "every": 8, "log_every": 20, "evaluate_every": 100}
    small_task.train(tmp_path / "alone", place, workers=1, **changes)
    run = tmp_path / "run"
    for ranks, model_ranks, number in ((2, 2, signal.SIGKILL), (1, 1, signal.SIGTERM), (4, 2, signal.SIGKILL)):
        beats, before = tmp_path / f"beats-{ranks}", newest(run)
        beats.mkdir()
        argv = words(model_ranks=model_ranks, **changes)
        process = start(ranks, TASK_SCRIPT, run, place, *argv, **{VARIABLE: str(beats)})
        while process.poll() is None and newest(run) < before + 8:
            time.sleep(0.01)
        os.kill(heard(beats, ranks - 1).process, number)
        code, out, errors = finish(process)
        assert (code == 75) == (number != signal.SIGKILL), out + errors
        assert before < newest(run) < changes["steps"]
    on_ranks(2, TASK_SCRIPT, run, place, *words(model_ranks=2, **changes))
    assert_close(run, tmp_path / "alone")


def finetune(ranks, run, place, *more):
    """mpiexec -n RANKS minalbert finetune RUN --model-ranks 2"""
    call = [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "minalbert", "finetune", run, "--task", "custom", "--data",
            place / "before", "--model", place / "model", "--model-ranks", "2", "--steps", "2", *more]  # fmt: skip
    return subprocess.run(call, env=environment(), capture_output=True, text=True, timeout=120)


def test_the_command_fine_tunes_on_two_ranks_and_others_read_the_model(tmp_path, place):
    ended = finetune(2, tmp_path / "run", place)
    assert ended.returncode == 0, ended.stderr
    call = [sys.executable, "-m", "minalbert", "eval", tmp_path / "run"]
    ended = subprocess.run(call, env=environment(), capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "accuracy" in ended.stdout


def test_a_fine_tuning_is_refused_in_one_sentence(tmp_path, place):
    ended = finetune(3, tmp_path / "run", place)
    sentence = "model_ranks is 2; the number of ranks, which mpiexec -n gives, must be a multiple of it, and is 3"
    assert (ended.returncode, ended.stderr) == (2, f"minalbert finetune: {sentence}\n")
    assert not (tmp_path / "run").exists()


def newest(run):
    return max(steps(run), default=0)
