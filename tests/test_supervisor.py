"""The supervisor of ranks, with a script in place of mpiexec; tests/parity/test_supervised_runs.py has real ranks."""

import signal
import sys
import threading
from pathlib import Path

import pytest
from small_run import train
from test_cli import refused

from minalbert.commands import launch as command
from minalbert.commands import main
from minalbert.parallel.heartbeat import VARIABLE, Heartbeat, heard
from minalbert.parallel.supervisor import Supervisor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGUSR1")

JOB = """
import os, signal, sys, time
words, seconds, code = sys.argv[1].split(","), float(sys.argv[2]), int(sys.argv[3])
stopped = []
signal.signal(signal.SIGUSR1, lambda *_: stopped.append(1))
def say(words):
    for rank, word in enumerate(words):
        name, _, count = word.partition(":")
        with open(os.path.join(os.environ["MINALBERT_HEARTBEAT"], f"rank-{rank}"), "w") as file:
            file.write(f"elsewhere 4711 {name} {count or 1}")
say(words)
end = time.monotonic() + seconds
while time.monotonic() < end and not stopped:
    time.sleep(0.01)
if stopped:
    say(["ended-75"] * len(words))
sys.exit(code)
"""


def supervised(*attempts, progress=(), **more):
    """(a Supervisor, how many ranks it started each time, what it said). An attempt: (words, seconds, exit code)"""
    started, said, attempts, progress = [], [], list(attempts), list(progress)

    def start(count):
        started.append(count)
        return [sys.executable, "-c", JOB, *map(str, attempts.pop(0))]

    return Supervisor(start, lambda: progress.pop(0) if progress else 0, said.append, **more), started, said


def test_the_largest_exit_code_ends_the_job():
    supervisor, started, _ = supervised(("ended-0,ended-75", 0, 0))
    assert supervisor.run(2) == 75
    assert started == [2]


@pytest.mark.parametrize("code", [0, 2, 75])
def test_ranks_that_ended_alike_end_the_job(code):
    supervisor, started, said = supervised((f"ended-{code},ended-{code}", 0, code))
    assert supervisor.run(2) == code
    assert (started, said) == ([2], [])


def test_what_one_rank_refuses_is_refused():
    supervisor, started, _ = supervised(("waits,ended-2", 0, 1))
    assert supervisor.run(2) == 2
    assert started == [2]


def test_an_exit_code_of_0_is_no_success_while_a_rank_has_not_ended():
    supervisor, started, said = supervised(("waits:5,works:4", 0, 0), ("ended-0,ended-0", 0, 0), progress=(1, 2))
    assert supervisor.run(2) == 0
    assert started == [2, 2]
    assert said == ["rank 1 was killed, or left without a word; starting again on 2 ranks"]


def test_an_error_is_named():
    supervisor, _, said = supervised(("waits,failed", 0, 1), ("ended-0,ended-0", 0, 0), progress=(1, 2))
    assert supervisor.run(2) == 0
    assert said == ["rank 1 met an error; starting again on 2 ranks"]


@pytest.mark.parametrize(("fewest", "tried"), [(1, [4, 2, 1]), (2, [4, 2])])
def test_without_progress_half_as_many_are_tried_and_in_the_end_none(fewest, tried):
    supervisor, started, said = supervised(*[("works", 0, 9)] * 3, fewest=fewest)
    assert supervisor.run(4) == 1
    assert started == tried
    assert said[-1].endswith("without anything saved since its start it is not started again")


def test_a_job_that_says_nothing_is_ended():
    supervisor, started, said = supervised(
        ("waits:8,works:7", 9, 0), ("ended-0,ended-0", 0, 0), progress=(1, 2), patience=2.0
    )
    assert supervisor.run(2) == 0
    assert said == ["rank 1 has said nothing for 2 s; starting again on 2 ranks"]
    assert started == [2, 2]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_it_asks_the_ranks_to_save_when_it_is_asked_to_stop(number, code):
    supervisor, started, said = supervised(("works,works", 60, 0))
    threading.Timer(0.3, supervisor.stop, [number]).start()
    assert supervisor.run(2) == code
    assert (started, said) == ([2], [])


def test_heartbeats_are_where_the_environment_says(tmp_path, monkeypatch):
    """A directory that several hosts see."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    supervisor, _, _ = supervised(("ended-0,ended-0", 0, 0))
    made, watch = [], supervisor.watch
    supervisor.watch = lambda beats, job: made.append(beats.heartbeats) or watch(beats, job)
    assert supervisor.run(2) == 0
    assert [Path(place).parent for place in made] == [tmp_path]
    assert not any(tmp_path.iterdir())


@pytest.fixture
def fewest(monkeypatch):
    """fewest(command line) -> with how many ranks its supervisor would still start the run."""
    monkeypatch.setattr(command, "launcher", lambda given: "mpiexec")
    monkeypatch.setattr(Supervisor, "run", lambda self, ranks: found.append(self.fewest) or 0)
    found = []
    return lambda *argv: main(["launch", "-n", "4", *map(str, argv)]) == 0 and found.pop()


def test_the_ranks_that_a_model_needs_stand_in_an_option_a_file_or_the_run(tmp_path, fewest):
    (tmp_path / "settings.toml").write_text("[training]\nmodel_ranks = 4\n")
    train(tmp_path / "run", steps=2, workers=1)
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("model_ranks = 1", "model_ranks = 2"))
    assert fewest("pretrain", tmp_path / "new") == 1
    assert fewest("pretrain", tmp_path / "new", "--model-ranks", 2) == 2
    assert fewest("pretrain", tmp_path / "new", "--config", tmp_path / "settings.toml") == 4
    assert fewest("pretrain", tmp_path / "run") == 2
    tuning = "finetune", tmp_path / "tuned", "--task", "sst2", "--data", "d", "--model", tmp_path / "run"
    assert fewest(*tuning) == 1
    assert fewest(*tuning, "--model-ranks", 2) == 2


def test_a_heartbeat_is_heard(tmp_path):
    assert heard(tmp_path, 0) is None
    heartbeat = Heartbeat(tmp_path, 0)
    heartbeat.say("begins-with-a-long-word")
    heartbeat.say("waits")
    assert heard(tmp_path, 0)[2:] == ("waits", 2)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["-n", "0", "pretrain", "runs/a"], "-n is 0; it must be a whole number, from 1 to 16384"),
        (["-n", "2"], "the command is missing; it must be one that trains: pretrain, finetune"),
        (["-n", "2", "fill", "a"], "the command is fill; it must be one that trains: pretrain, finetune"),
        (
            ["-n", "2", "pretrain", "runs/a", "--stepss", "4"],
            "unrecognized arguments: --stepss 4; did you mean --steps?",
        ),
    ],
)
def test_a_mistake_is_said_once_and_before_anything_starts(capsys, argv, sentence):
    assert refused(capsys, "launch", *argv).endswith(sentence)


def test_a_launcher_that_is_not_there_is_named(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "mpi4py" or None)
    argv = ["launch", "-n", "2", "--mpiexec", "no-such-file", "pretrain", "runs/a"]
    assert "no-such-file is not found; pip install 'minalbert[mpi]'" in refused(capsys, *argv)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "mpi4py is not installed" in refused(capsys, *argv)
