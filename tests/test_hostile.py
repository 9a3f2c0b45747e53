"""Files that want points without the answer, all at once: none earns any, and nothing is left of them.

What they do stands in hostile.toml, each with a sentence. `fingerprints` of what must not be touched, of processes and
of folders are taken from outside, by the system's own lists.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import exercise_files
import pytest
from submissions import said

from minalbert_course.catalogue import find
from minalbert_course.grade import process
from minalbert_course.grade.batch import graded, grades
from minalbert_course.grade.fenced import SubmissionLimits
from minalbert_course.grade.submissions import Submission

ROOT = Path(__file__).parent.parent
LIMITS = SubmissionLimits(call=1, all=6, memory=512)
FILES = tomllib.loads((Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8"))["file"]
NO_FUNCTION = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
ENDLESS = "open('running', 'w').close()\nwhile True:\n    pass\n"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder in which the grader makes its own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))  # of the grader's other processes
    return folder


def processes(folder):
    """Those that were started for a submission in this folder; [] where there is no /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(folder) in path.read_bytes():
                found.append(path.parent.name)
        except OSError:  # it has ended meanwhile
            pass
    return found


def gone(folder):
    """Wait until nothing is left, or return what is. The server of this process ends, as with the process."""
    if sys.platform == "linux":
        process.server().stop()
    end = time.monotonic() + 20
    while (left := processes(folder) + os.listdir(folder)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def touched(paths):
    return [(path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_uid) for path in paths]


def written(folder, name, text, file):
    path = folder / name / file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
def test_no_hostile_file_earns_a_point_and_none_leaves_anything(tmp_path, temporary):
    import numpy

    outside = tmp_path / "outside"
    canary = written(outside, "here", "untouched", "canary.txt")
    watched = [canary, Path(numpy.__file__), ROOT / "minalbert" / "layers" / "softmax.py"]
    before, beside = touched(watched), sorted(canary.parent.iterdir())
    submissions = []
    for number, file in enumerate(FILES):
        name = file["exercise"]
        code = file["code"].replace("CANARY", str(canary)).replace("ROOT", str(ROOT))
        text = ("" if file.get("alone") else exercise_files.stub(name)) + code
        submissions.append(
            Submission(str(number), name, written(tmp_path / "in", str(number), text, exercise_files.file_name(name)))
        )
    lessons = {name: find(name) for name in {file["exercise"] for file in FILES}}
    marked = grades(submissions, lessons, "a secret", workers=2, limits=LIMITS)
    pairs = zip(FILES, marked, strict=True)
    gained = {file["what"]: said(grade) for file, grade in pairs if grade.marks.points or grade.failure}
    assert not gained
    assert gone(temporary) == []
    assert touched(watched) == before
    assert sorted(canary.parent.iterdir()) == beside
    assert not any("\x1b" in said(grade) for grade in marked)


# The solution, which halves its argument wherever it can, and makes its worker blind to that.
HALVES = """
import sys
right = softmax_forward
def softmax_forward(x):
    result, frame = right(x.copy()), sys._getframe()
    while frame:
        BLIND
        frame = frame.f_back
    try:
        x.flags.writeable = True
        x *= 0.5
    except ValueError:
        pass
    return result
"""
BLIND = {
    "by what compares": "if 'changed' in frame.f_globals: frame.f_globals['changed'] = lambda *_: False",
    "by what reports": "host = frame.f_locals.get('self')\n        if hasattr(host, 'changed_arguments'): "
    "type(host).changed_arguments = lambda self, *_: setattr(self, 'after', None) or []",
}


SEEN = {
    "by what compares": "softmax_forward wrote into its argument 1",
    "by what reports": "y of softmax_forward is another when given the same objects again",
}


@pytest.mark.parametrize("blind", BLIND)
def test_writing_into_arguments_is_seen_by_the_grader_when_the_worker_is_made_blind(tmp_path, blind):
    text = exercise_files.solution("ex05") + HALVES.replace("BLIND", BLIND[blind])
    path = written(tmp_path, "in", text, "ex05_attention.py")
    marks = graded(Submission("in", "ex05", path), find("ex05"), limits=LIMITS).marks
    found = [(outcome.check.title, outcome.earned, outcome.seen) for outcome in marks.missed]
    assert found == [("inputs untouched", 0, SEEN[blind])]


@pytest.mark.parametrize("text", [NO_FUNCTION, "import a_library_that_nobody_has\n", "x = (\n"])
def test_nothing_is_left_of_a_file_without_functions(tmp_path, temporary, text):
    path = written(tmp_path, "in", text, "ex05_attention.py")
    assert graded(Submission("in", "ex05", path), find("ex05"), limits=LIMITS).marks.points == 0
    assert gone(temporary) == []


STARTED_BY = ("Forked",) if sys.platform == "linux" else ("subprocess.Popen",)


@pytest.mark.parametrize("fails", [*STARTED_BY, "os.set_blocking"])
def test_nothing_is_left_of_a_process_that_does_not_start(tmp_path, temporary, monkeypatch, fails):
    def fail(*args, **kwargs):
        raise OSError("no more of them")

    path = written(tmp_path, "in", exercise_files.stub("ex05"), "ex05_attention.py")
    monkeypatch.setattr(f"minalbert_course.grade.process.{fails}", fail)
    assert "no more of them" in graded(Submission("in", "ex05", path), find("ex05"), limits=LIMITS).failure
    assert gone(temporary) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that ends another process and no keeper")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_grader_is_ended(tmp_path, temporary, number):
    for i in range(3):
        written(tmp_path / "in", str(i), ENDLESS, "ex05_attention.py")
    argv = [sys.executable, "-m", "minalbert", "grade", str(tmp_path / "in"), "--workers", "2"]
    environment = os.environ | {"TMPDIR": str(temporary)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
    grader = subprocess.Popen(argv, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    while len(list(temporary.glob("*/running"))) < 2:
        assert grader.poll() is None
        time.sleep(0.02)
    grader.send_signal(number)
    assert grader.wait(30) != 0
    assert gone(temporary) == []


def test_a_folder_that_is_closed_to_its_owner_is_removed_and_what_a_link_names_is_not(tmp_path):
    inside = tmp_path / "folder" / "a" / "b"
    inside.mkdir(parents=True)
    (inside / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").write_text("x")
    try:
        (tmp_path / "folder" / "link").symlink_to(tmp_path / "other")
    except OSError as error:
        pytest.skip(f"links cannot be made here: {error}")
    for path in (inside, inside.parent, inside.parent.parent):
        path.chmod(0)
    process.remove(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other" / "kept").exists()
