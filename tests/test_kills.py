"""Killed at any instant, as often as one likes, a run ends with the bits of one that was left in peace.

More kills than CI has time for: pytest tests/test_kills.py --kills 500
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import computed, train

from minalbert.train import checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals")]

SCRIPT = Path(__file__).parent / "small_run.py"
LONG = {"steps": 1000, "log_every": 50, "evaluate_every": 100}


def start(run, **changes):
    said = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    child = subprocess.Popen(
        [sys.executable, SCRIPT, run, *said], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n", child.communicate()[1]
    return child


@pytest.mark.parametrize("half", [0, 1])
def test_killed_runs_end_as_a_run_that_was_not(tmp_path, request, half):
    kills = request.config.getoption("--kills") // 2
    train(tmp_path / "whole", **LONG)
    run, rng, newest = tmp_path / "run", random.Random(half), 0
    for kill in range(kills):
        child = start(run, **LONG)
        time.sleep(0.4 * rng.random())
        child.kill()
        child.communicate()
        assert child.returncode == -signal.SIGKILL, f"it was done before kill {kill}"
        steps = checkpoint.steps(run) if run.exists() else []
        if steps:
            assert steps[-1] >= newest, "a checkpoint was lost"
            newest = steps[-1]
            checkpoint.verify(checkpoint.path_of(run, newest))
    assert 0 < newest < LONG["steps"]
    child = start(run, **LONG)
    _, said = child.communicate(timeout=300)
    assert child.returncode == 0, said
    assert computed(run) == computed(tmp_path / "whole")
    assert not list(run.glob(".step-*"))  # nothing half-written is left behind


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 75), ("SIGUSR1", 75)])
def test_a_signal_saves_at_a_steps_end_and_has_its_code(tmp_path, name, code):
    if not hasattr(signal, name):
        pytest.skip(f"this system has no {name}")
    changes = {"steps": 200, "every": 1000}
    train(tmp_path / "whole", **changes)
    run = tmp_path / "run"
    child = start(run, **changes)
    wait_for(lambda: (run / "metrics.jsonl").exists() and '"step": 3,' in (run / "metrics.jsonl").read_text())
    child.send_signal(getattr(signal, name))
    _, said = child.communicate(timeout=60)
    assert child.returncode == code, said
    assert f"{name}: saving at the end of this step" in said
    assert 0 < checkpoint.steps(run)[-1] < 200
    child = start(run, **changes)
    child.communicate(timeout=120)
    assert child.returncode == 0
    assert computed(run) == computed(tmp_path / "whole")


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    child = start(tmp_path, steps=10**6, every=10**6, micro_batch=1, batch=4096)  # a step takes long
    wait_for(lambda: checkpoint.steps(tmp_path))
    child.send_signal(signal.SIGINT)
    assert "Ctrl-C again stops without saving" in child.stderr.readline() + child.stderr.readline()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode not in (0, 130)
    assert checkpoint.steps(tmp_path) == [0]


def test_two_processes_do_not_train_into_one_directory(tmp_path):
    child = start(tmp_path, steps=10**6)
    try:
        wait_for(lambda: checkpoint.steps(tmp_path))
        second = start(tmp_path, steps=10**6)
        _, said = second.communicate(timeout=60)
        assert f"process {child.pid} is training into {tmp_path}" in said
        assert second.returncode != 0
    finally:
        child.kill()
        child.communicate()
    outcome = train(tmp_path, steps=checkpoint.steps(tmp_path)[-1] + 4)  # a killed process holds no lock
    assert outcome.code == 0


def wait_for(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
