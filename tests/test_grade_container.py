"""Which fences stand is told before anything is run, and a container stands in for those that are not there.

Podman and Docker are played by a program that keeps what it is told and then runs the worker without a container.
"""

import json
import os
import stat
import sys
from pathlib import Path

import exercise_files
import pytest
from submissions import RIGHT, written

from minalbert import commands
from minalbert_course.grade import container, standing
from minalbert_course.grade.fence import KERNEL
from minalbert_course.grade.fenced import SubmissionLimits

COURSE = str(Path(container.__file__).parents[1])
FAKE = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["FAKE_LOG"], "a") as log:
    print(json.dumps(sys.argv), file=log)
if sys.argv[1] == "image" and os.environ.get("FAKE_HAS") == "no image":
    sys.exit("Error: no such image")
if sys.argv[1] == "run" and os.environ.get("FAKE_HAS") == "no luck":
    sys.exit("Error: no space left")
if sys.argv[1] == "run":
    worker = [each.replace("/course", {COURSE!r}) for each in sys.argv[sys.argv.index("python") + 1 :]]
    os.execve(sys.executable, [sys.executable, *worker], os.environ | {{"PYTHONPATH": {os.pathsep.join(sys.path)!r}}})
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program of this name on the PATH, alone; gives back what it was told."""
    if os.name == "nt":
        pytest.skip("Windows starts no scripts by their first line")

    def put(name):
        path = tmp_path / "bin" / name
        path.parent.mkdir()
        path.write_text(FAKE)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(path.parent))
        monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
        monkeypatch.setenv("TMPDIR", str(path.parent))  # of the container
        return lambda: [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]

    return put


@pytest.fixture
def hook_alone(monkeypatch):
    """macOS, Windows, a container of somebody else's."""
    monkeypatch.setattr("minalbert_course.grade.command.fences_here", lambda *_: ["limits", "audit hook"])


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "in", "ann", RIGHT)
    (tmp_path / "term.txt").write_text("a long secret")
    return tmp_path / "in"


def grade(capsys, *argv):
    code = commands.main(["grade", *map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_first_line_names_the_fences_that_a_worker_raises(folder, capsys):
    code, out, err = grade(capsys, folder, "--json")
    stand = json.loads(out)["fences"]
    assert "audit hook" in stand
    assert err.startswith(f"fences: {'; '.join(stand)}")
    assert ("NOT here" in err) == any(fence not in stand for fence in KERNEL)
    assert code == 0


@pytest.mark.usefixtures("hook_alone")
def test_where_the_audit_hook_is_alone_it_is_said_and_the_secret_is_refused(folder, capsys):
    code, out, err = grade(capsys, folder)
    assert (code, len(err.splitlines())) == (0, 1)
    assert err.startswith(f"fences: limits; audit hook. NOT here: {'; '.join(KERNEL)}. Python's audit hook stops")
    term = "--term-file", folder.parent / "term.txt"
    code, out, err = grade(capsys, folder, *term, "--out", folder.parent / "refused")
    assert (code, out) == (2, "")
    assert "--term-file is refused here" in err
    assert "or --trust, if you trust everybody" in err
    assert not (folder.parent / "refused").exists()
    code, out, err = grade(capsys, folder, *term, "--trust")
    assert (code, "1 marked" in out) == (0, True)


@pytest.mark.parametrize("missing", KERNEL)
def test_one_fence_of_the_kernels_is_not_enough_for_the_secret(missing):
    stand = [fence for fence in ("limits", *KERNEL, "audit hook") if fence != missing]
    with pytest.raises(standing.CourseError, match="is refused here"):
        standing.may_be_secret(stand, container=None, trust=False)
    assert f"NOT here: {missing}." in standing.sentence(stand)
    standing.may_be_secret(["limits", *KERNEL, "audit hook"], container=None, trust=False)
    standing.may_be_secret(stand, container="podman", trust=False)


def test_a_submission_that_lost_a_fence_is_to_be_looked_at(folder, capsys, monkeypatch):
    monkeypatch.setattr("minalbert_course.grade.command.fences_here", lambda *_: ["audit hook", "a moat"])
    code, out, _ = grade(capsys, folder)
    assert code == 1
    assert f"LOOK AT {folder / 'ann' / 'ex05_attention.py'}: it ran without a fence: a moat" in out


@pytest.mark.parametrize("name", container.PROGRAMS)
def test_each_submission_gets_a_container(program, folder, capsys, name):
    told = program(name)
    code, out, err = grade(capsys, folder, "--container", "--term-file", folder.parent / "term.txt", "--memory", 512)
    assert (code, "10 / 10" in out) == (0, True), out + err
    shown, fences, *rest = err.splitlines()
    assert rest == []
    assert shown.startswith(
        f"each submission is run by: {name} run --rm --interactive --name minalbert-... --pull never"
    )
    assert fences.startswith(f"fences: a container of {name} for each submission (no network, read-only, not root); in")
    first, *others = told()
    assert first[1:] == ["image", "inspect", container.IMAGE]
    runs = [argv for argv in others if argv[1] == "run"]
    names = [argv[argv.index("--name") + 1] for argv in runs]
    assert len(runs) == len(set(names)) == 2  # one says which fences stand
    assert [argv[1:] for argv in others if argv[1] == "kill"] == [["kill", each] for each in names]
    for argv in runs:
        before, after = argv[: argv.index(container.IMAGE)], argv[argv.index(container.IMAGE) + 1 :]
        for option, value in {"--network": "none", "--user": "65534:65534", "--cap-drop": "ALL", "--pull": "never",
                              "--security-opt": "no-new-privileges", "--memory": "1536m"}.items():  # fmt: skip
            assert before[before.index(option) + 1] == value
        assert "--read-only" in before
        assert not {"-v", "--volume", "--mount", "--privileged", "--env", "-e"} & set(before)
        assert after[:3] == ["timeout", "--signal=KILL", "1500"]
        assert after[3:] == ["python", "-P", "-s", "/course/grade/received.py"]
        assert not any("secret" in word or str(folder.parent) in word for word in argv[1:])


def test_a_name_that_is_no_unicode_is_marked(program, folder, capsys):
    program("docker")
    try:
        (folder / "ann" / "ex05_attention.py").rename(folder / "ann" / os.fsdecode(b"ex05_\xff.py"))
    except OSError:
        pytest.skip("this system has no such names")
    code, out, err = grade(capsys, folder, "--container")
    assert (code, "10 / 10" in out) == (0, True), out + err


def test_exercise_12_and_its_pretended_gpu_work_in_containers(program, tmp_path, capsys):
    program("podman")
    written(tmp_path / "in", "ann", exercise_files.solution("ex12"), exercise_files.file_name("ex12"))
    code, out, err = grade(capsys, tmp_path / "in", "--container")
    assert (code, "10 / 10" in out) == (0, True), out + err


def test_a_container_ends_where_the_questions_end(program, tmp_path):
    """This program does not end what it is told to kill."""
    program("podman")
    worker = container.ContainedWorker("podman", SubmissionLimits())
    (tmp_path / "ex05_attention.py").write_text(RIGHT)
    worker.take(tmp_path / "ex05_attention.py")
    worker.stop()
    assert worker.process.returncode == 0  # it was not killed


def test_podman_is_taken_before_docker_and_without_both_it_is_said(program, folder, capsys, monkeypatch):
    program("docker")
    assert container.program() == "docker"
    (folder.parent / "bin" / "podman").write_text(FAKE)
    (folder.parent / "bin" / "podman").chmod(0o755)
    assert container.program() == "podman"
    monkeypatch.setenv("PATH", str(folder))
    code, _, err = grade(capsys, folder, "--container")
    assert (code, "needs podman or docker on the PATH, and neither is there" in err) == (2, True)


@pytest.mark.parametrize(
    ("has", "says"),
    [
        ("no image", f"podman does not give the image {container.IMAGE}: Error: no such image; where it is missing"),
        ("no luck", "podman did not start a container; the command that was printed shows why"),
    ],
)
def test_a_container_that_does_not_start_is_no_students_fault(program, folder, capsys, monkeypatch, has, says):
    told = program("podman")
    monkeypatch.setenv("FAKE_HAS", has)
    code, out, err = grade(capsys, folder, "--container")
    assert (code, out) == (2, "")
    assert says in err
    assert len([argv for argv in told() if argv[1] == "run"]) == (has == "no luck")
    assert not Path(f"{folder}-grades").exists()
