"""Killed at any instant, as often as one likes, a run ends with the bits of one that was left in peace.

More kills than CI has time for: pytest tests/test_kills.py --kills 500
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import computed, small_settings, train

from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
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
    train(tmp_path / "whole", **LONG | {"every": LONG["steps"]})
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


@pytest.fixture(autouse=True)
def heard():
    """Children do not ignore SIGHUP, though tests that run under nohup do."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 75), ("SIGUSR1", 75), ("SIGHUP", 75)])
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


def test_under_nohup_a_closed_terminal_stops_nothing(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        child = start(tmp_path, steps=40)  # which ignores it, too
    finally:
        signal.signal(signal.SIGHUP, before)
    child.send_signal(signal.SIGHUP)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 0, said


def test_a_terminal_that_closes_leaves_a_saved_run(tmp_path):
    """A session of its own, whose terminal goes: SIGHUP, and nobody to print for."""
    ours, theirs = os.openpty()
    stories = TinyWorlds(seed=1)
    build(story_sources(stories, 30), WordTokenizer(stories.words()), tmp_path / "corpus")
    settings = small_settings(corpus=str(tmp_path / "corpus"), steps=10**6, every=10**6)
    (tmp_path / "my.toml").write_text(settings.toml(comment_defaults=True), encoding="utf-8")
    run = tmp_path / "run"
    program = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\nfrom minalbert.commands import main\n"
    words = ["pretrain", str(run), "--config", str(tmp_path / "my.toml")]
    child = subprocess.Popen(
        [sys.executable, "-c", f"{program}sys.exit(main({words!r}))"],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    wait_for(lambda: (run / "metrics.jsonl").exists() and '"step": 3,' in (run / "metrics.jsonl").read_text())
    os.close(ours)
    assert child.wait(timeout=60) == 75
    assert checkpoint.steps(run)[-1] > 0


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


SUMMARY = """
import signal, sys
from minalbert.commands import main, training
from minalbert.commands.progress import Progress
def twice(*words):
    signal.raise_signal(signal.SIGTERM)
    print("summary")
Progress.step = lambda *_: signal.raise_signal(signal.SIGTERM)
training.print_result = twice
sys.argv[1:] = {words!r}
from minalbert import __main__
code = __main__.main()
signal.raise_signal(signal.SIGTERM)
sys.exit(code)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_a_second_signal_does_not_change_the_code_of_a_saved_run(tmp_path):
    """Not while the result is printed, and not while Python ends."""
    stories = TinyWorlds(seed=1)
    build(story_sources(stories, 30), WordTokenizer(stories.words()), tmp_path / "corpus")
    (tmp_path / "my.toml").write_text(small_settings(corpus=str(tmp_path / "corpus")).toml(comment_defaults=True))
    words = ["pretrain", str(tmp_path / "run"), "--config", str(tmp_path / "my.toml")]
    program = SUMMARY.format(words=words)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (75, "summary\n"), found.stderr
    assert checkpoint.steps(tmp_path / "run") == [0, 1]
