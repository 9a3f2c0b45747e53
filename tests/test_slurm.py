"""The batch script for Slurm: its text, and what it does when the supervisor ends, with scripts in place of programs.

tests/parity/test_slurm_runs.py has a real Slurm.
"""

import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest
from test_cli import printed, refused

from minalbert import commands
from minalbert.parallel.slurm import batch_script

COMMAND = ["supervisor", "-n", "4", "pretrain", "runs/a first one", "--corpus", "worlds"]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A directory of programs in PATH, which note how they were called."""
    place = tmp_path / "programs"
    place.mkdir()

    def program(name, code=0, before=""):
        path = place / name
        path.write_text(f'#!/bin/sh\n{before}\necho "{name} $*" >> {place}/called\nexit {code}\n')
        path.chmod(0o755)

    program.called = lambda: (place / "called").read_text().splitlines()
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    return program


def test_the_text():
    lines = batch_script(COMMAND, 4, ["--time=8:00:00"]).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")] == [
        "--ntasks=4", "--job-name=minalbert", "--signal=B:USR1@120", "--requeue", "--open-mode=append",
        "--time=8:00:00",
    ]  # fmt: skip
    (supervisor,) = [line for line in lines if line.endswith(" &")]
    assert shlex.split(supervisor) == [*COMMAND, "&"]
    assert 'export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmi2}" SLURM_KILL_BAD_EXIT=1' in lines


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sh")
@pytest.mark.parametrize("code", [0, 1, 75])
def test_it_waits_in_the_queue_again_after_75_alone(tmp_path, cluster, code):
    cluster("supervisor", code)
    cluster("scontrol")
    path = tmp_path / "job.sh"
    path.write_text(batch_script(COMMAND, 4))
    assert subprocess.run(["sh", path]).returncode == code
    called = cluster.called()
    assert called[0] == " ".join(COMMAND)
    assert called[1:] == (["scontrol requeue 4711"] if code == 75 else [])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sh")
def test_a_signal_reaches_the_supervisor_which_saves_before_the_job_ends(tmp_path, cluster):
    ready = tmp_path / "ready"
    cluster(
        "supervisor", 75, before=f"trap asked=1 USR1\ntouch {ready}\nuntil [ $asked ]; do sleep 0.02; done\nsleep 0.2"
    )
    cluster("scontrol")
    path = tmp_path / "job.sh"
    path.write_text(batch_script(COMMAND, 4))
    job = subprocess.Popen(["sh", path])
    while not ready.exists():
        time.sleep(0.01)
    job.send_signal(signal.SIGUSR1)
    assert job.wait(10) == 75
    assert cluster.called() == [" ".join(COMMAND), "scontrol requeue 4711"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sh")
@pytest.mark.parametrize("code", [0, 1])
def test_launch_writes_and_submits_it(tmp_path, cluster, code):
    cluster("sbatch", code)
    path, run = tmp_path / "job.sh", str(tmp_path / "run")
    training = ["pretrain", run, "--steps", "5"]
    argv = ["launch", "-n", "8", "--patience", "90", "--slurm", str(path), "--sbatch=--time=1:00", *training]
    assert commands.main(argv) == code
    supervisor = ["launch", "-n", "8", "--patience", "90", "--mpiexec", "srun", *training]
    assert path.read_text() == batch_script([sys.executable, "-m", "minalbert", *supervisor], 8, ["--time=1:00"])
    assert cluster.called() == [f"sbatch {path}"]


def test_where_slurm_is_not_the_script_is_written_and_no_more(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    path = tmp_path / "job.sh"
    said = printed(capsys, "launch", "--slurm", str(path), "pretrain", "runs/a")
    assert said.startswith(f"wrote {path}; there is no sbatch here")
    assert path.read_text().startswith("#!/bin/sh\n#SBATCH --ntasks=2\n")


def test_a_file_that_is_there_is_kept(tmp_path, capsys):
    path = tmp_path / "job.sh"
    path.write_text("mine")
    assert "which is there already" in refused(capsys, "launch", "--slurm", str(path), "pretrain", "runs/a")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--sbatch=--time=3", "pretrain", "runs/a"], "--sbatch is --time=3, without --slurm FILE"),
        (["--slurm", "job.sh", "pretrain", "runs/a", "--stepss", "4"], "--stepss 4; did you mean --steps?"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(tmp_path, capsys, monkeypatch, argv, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, "launch", *argv)
    assert list(tmp_path.iterdir()) == []
