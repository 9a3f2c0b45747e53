"""Submissions that nobody trusts: each gets its marks, and nothing else of what it wants."""

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import exercise_files
import numpy as np
import pytest

from minalbert import cli
from minalbert.course.catalogue import find
from minalbert.course.given import Given
from minalbert.course.grade import codec, gradescope
from minalbert.course.grade.batch import best, graded, grades
from minalbert.course.grade.fenced import Fenced, Limits
from minalbert.course.grade.submissions import Submission, found
from minalbert.course.yours import OnDevice, Opaque

LESSON = find("ex05")
LIMITS = Limits(call=3, all=40, memory=512)
RIGHT = exercise_files.solution("ex05")
STUB = exercise_files.stub("ex05")
SECRETS_OF_OTHERS = Path(__file__).parent.parent / "exercises" / "source" / "ex05_attention.py"

FORWARD = "\ndef softmax_forward(x):\n    "
# name: (the file, points in the grader's draws, what the marks say somewhere)
HOSTILE = {
    "sys.exit at the end": (RIGHT + "\nimport sys\nsys.exit(0)\n", 10, "calls sys.exit"),
    "sys.exit in a function": (RIGHT + FORWARD + "raise SystemExit(0)\n", 0, "called sys.exit"),
    "os._exit": (RIGHT + "\nimport os\ndef softmax_forward(x):\n    os._exit(0)\n", 0, "ended the whole process"),
    "os._exit on import": (RIGHT + "\nimport os\nos._exit(0)\n", 0, "ended the whole process"),
    "an endless loop": (
        RIGHT + "\ndef softmax_backward(dy, cache):\n    while True: pass\n", 3, "longer than 3 seconds"),
    "endless recursion": (RIGHT + FORWARD + "return softmax_forward(x)\n", 0, "RecursionError"),
    "a flood of prints": (RIGHT + "\nfor _ in range(2000): print('x' * 10000)\n", 10, ""),
    "too much memory": (RIGHT + FORWARD + "return np.ones(10**11), 1\n", 0, "MemoryError"),
    "a huge answer": (RIGHT + FORWARD + "return np.ones(10**7), 1\n", 0, "64 are allowed"),
    "an interrupt": (RIGHT + FORWARD + "raise KeyboardInterrupt\n", 0, "KeyboardInterrupt"),
    "NumPy patched": (
        STUB + "\nimport numpy.testing\nnp.abs = np.asarray = lambda x, *a: 0.0\nnp.allclose = lambda *a: True\n"
        + FORWARD + "return x, x\n", 0, "ended the whole process"),
    "the grader patched": (
        STUB + "\nimport minalbert.course.compare as c, minalbert.course.marking as m\nc.same = lambda *a, **k: None\n"
        "m.outcome = lambda lesson, check, *a: m.Outcome(check, check.points)\n"
        + FORWARD + "return x, x\n", 0, "softmax_backward is not written"),
    "results of its own": (STUB + "\nopen('results.json', 'w').write('{\"score\": 10}')\n", 0, "not written yet"),
    "the library's answer": (STUB + "\nfrom minalbert.layers import *\n", 0, "is the answer to this exercise"),
    "the checks' answer": (STUB + "\nfrom minalbert.course.lessons.ex05_attention import *\n", 0, "is the answer to"),
    "the solution, read": (STUB + f"\nexec(open({str(SECRETS_OF_OTHERS)!r}).read())\n", 0, "may not do this: open"),
    "the grader's memory": (STUB + "\nimport os\nopen(f'/proc/{os.getppid()}/cmdline')\n", 0, "this: open /proc"),
    "the network": (RIGHT + "\nimport socket\nsocket.create_connection(('127.0.0.1', 9))\n", 10, "this: socket"),
    "a program": (RIGHT + "\nimport subprocess\nsubprocess.run(['true'])\n", 10, "may not do this: subprocess"),
    "a fork": (RIGHT + "\nimport os\nos.fork()\n", 10, "may not do this: os.fork"),
    "a kill": (RIGHT + "\nimport os\nos.kill(os.getppid(), 9)\n", 10, "may not do this: os.kill"),
    "files of others": (RIGHT + "\nimport os\nos.remove('/tmp/../etc/hostname')\n", 10, "may not do this: os.remove"),
    "junk in every pipe": (
        RIGHT + "\nimport os" + FORWARD + "for fd in range(3, 20):\n        try: os.write(fd, b'\\xff' * 99)\n"
        "        except OSError: pass\n    return x, x\n", 0, "softmax_forward sent"),
    "objects": (RIGHT + FORWARD + "return object(), {1: {2}}\n", 0, "it must be an array"),
    "text": (RIGHT + FORWARD + "return 'ten points', None\n", 0, "it must be an array"),
    "escape codes": (RIGHT + FORWARD + "raise ValueError('\\x1b[2J ten points')\n", 0, "ten points"),
    "no Python": ("def softmax_forward(x:\n", 0, "is not Python: line 1"),
    "no text": (b"\xff\xfe\x00", 0, "is not a text file"),
    "null bytes": (b"x = 1\x00\n", 0, "null bytes"),
    "nothing": ("", 0, "has none of the functions"),
}  # fmt: skip
ON_LINUX = {"os._exit", "os._exit on import", "too much memory", "a fork", "the grader's memory"}


def written(folder, name, text, file="ex05_attention.py"):
    path = folder / name.replace(" ", "-") / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Submission(path.parent.name, "ex05", path)


def said(grade):
    return " ".join([grade.marks.remark, *(f"{o.seen} {o.cause}" for o in grade.marks.outcomes)])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_gets_its_marks_and_no_more(name, tmp_path):
    if name in ON_LINUX and sys.platform != "linux":
        pytest.skip(f"{name} needs Linux")
    text, points, says = HOSTILE[name]
    grade = graded(written(tmp_path, name, text), LESSON, "a secret", LIMITS)
    assert not grade.failure
    assert grade.marks.points <= max(points, 0.5), said(grade)  # half a point: nothing was written into
    assert grade.marks.points >= points, said(grade)
    assert says in said(grade)
    assert "\x1b" not in said(grade)


def test_a_right_answer_scores_all_and_its_fences_stand(tmp_path):
    submission = written(tmp_path, "right", RIGHT)
    assert graded(submission, LESSON, "a secret", LIMITS).marks.points == 10
    with Fenced(LESSON, submission.path, LIMITS) as host:
        assert "audit hook" in host.fences
        if sys.platform == "linux":
            assert "limits" in host.fences
        folder = host.folder
    assert not Path(folder).exists()


def kernel_has_landlock():
    import ctypes

    return sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


@pytest.mark.skipif(not kernel_has_landlock(), reason="this kernel has no Landlock")
def test_files_are_out_of_reach_without_the_audit_hook_too(tmp_path):
    """The C library's own open, which Python's hook never hears of."""
    probe = tmp_path / "probe.py"
    probe.write_text(
        "import ctypes, sys\nfrom minalbert.course.grade.fence import landlock, readable\n"
        "libc = ctypes.CDLL(None, use_errno=True)\nlandlock(readable(), sys.argv[1])\n"
        "for path in (sys.argv[2], '/etc/passwd', sys.executable):\n    print(libc.open(path.encode(), 0) > 0)\n"
    )
    folder = tmp_path / "own"
    folder.mkdir()
    argv = [sys.executable, probe, folder, SECRETS_OF_OTHERS]
    result = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("suffix", ["link", "large"])
def test_what_is_not_even_run(tmp_path, suffix):
    submission = written(tmp_path, suffix, RIGHT)
    if suffix == "link":
        submission.path.rename(tmp_path / "elsewhere.py")
        try:
            submission.path.symlink_to(tmp_path / "elsewhere.py")
        except OSError as error:
            pytest.skip(f"links cannot be made here: {error}")
    else:
        submission.path.write_text("#" * (6 * 2**20))
    marks = graded(submission, LESSON).marks
    assert marks.points == 0
    assert {"link": "is a link", "large": "5 are allowed"}[suffix] in marks.remark


def test_a_notebook_whose_cell_stops_keeps_its_other_cells(tmp_path):
    text = exercise_files.as_notebook("%matplotlib inline", RIGHT, "1 / 0", "!ls", "x = (")
    submission = written(tmp_path, "a", text, "ex05_attention.ipynb")
    marks = graded(submission, LESSON, "a secret", LIMITS).marks
    assert marks.points == 10
    assert "ZeroDivisionError" in marks.remark


def test_values_travel_and_nothing_else_does():
    arrays = np.arange(6.0).reshape(2, 3), np.array(2, np.float32), np.zeros(0, int)
    value = {"a": [1, 2.5, None, True, "ß"], (1, 2): arrays,
             "given": Given.of("rng", 3), "cache": Opaque(4), "gpu": OnDevice(np.ones(2))}  # fmt: skip
    message = codec.dumps(value)
    text, body = codec.sizes(message[: codec.HEAD.size])
    rest = message[codec.HEAD.size :]
    back = codec.loads(rest[:text], rest[text:])
    assert len(rest) == text + body
    assert repr(back) == repr(value)
    assert repr(codec.loads(*parts(codec.dumps({1, 2})))) == "a set"
    for scalar, plain in ((np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a")):
        assert codec.loads(*parts(codec.dumps(scalar))) == plain
    for broken in (b"", b"{", b'{"array": ["<f8", [3]]}', b'{"array": ["O", [1]]}', b'{"array": ["<f8", [-1]]}',
                   b'{"list": 3}', b'{"what": 1}', b"[" * 10**5):  # fmt: skip
        with pytest.raises(codec.CodecError):
            codec.loads(broken, b"12345678")
    with pytest.raises(codec.CodecError, match="64 are allowed"):
        codec.sizes(codec.HEAD.pack(10, 2**40))


def parts(message):
    text, _ = codec.sizes(message[: codec.HEAD.size])
    return message[codec.HEAD.size :][:text], message[codec.HEAD.size :][text:]


def test_whose_file_it_is_and_of_which_exercise(tmp_path):
    for name in ("ann/ex05_attention.py", "bob_ex5.ipynb", "sub/cy/EX05 final.py", "dee.py", "text51.py",
                 "ann/.ipynb_checkpoints/ex05_attention-checkpoint.ipynb"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    known, unknown = found(tmp_path)
    assert {(s.student, s.exercise) for s in known} == {("ann", "ex05"), ("bob", "ex05"), ("sub/cy", "ex05")}
    assert sorted(path.name for path in unknown) == ["dee.py", "text51.py"]
    known, unknown = found(tmp_path, "ex05")
    assert {s.student for s in known} == {"ann", "bob", "sub/cy", "dee", "text51"}
    assert not unknown


def test_of_several_files_the_best_counts(tmp_path):
    submissions = [written(tmp_path, "ann", STUB), written(tmp_path / "x", "ann", RIGHT)]
    marked = best(grades([s._replace(student="ann") for s in submissions], {"ex05": LESSON}, limits=LIMITS))
    assert [grade.marks.points for grade in marked] == [10]


def test_the_command_writes_grades_that_a_spreadsheet_can_be_given(tmp_path, capsys):
    folder, term = tmp_path / "in", tmp_path / "term.txt"
    term.write_text("a long secret\n")
    written(folder, "ann", RIGHT)
    written(folder, "=SUM(1)", RIGHT.replace("/ np.sqrt(q.shape[-1])", "", 1))
    written(folder, "cy", "syntax error")
    argv = ["grade", str(folder), "--exercise", "ex05", "--workers", "2"]
    assert cli.main([*argv, "--term-file", str(term)]) == 0
    out = tmp_path / "in-grades"
    assert "3 marked in" in capsys.readouterr().out
    rows = {
        row["student"]: row for row in csv.DictReader((out / "grades.csv").read_text(encoding="utf-8").splitlines())
    }
    assert rows["ann"]["points"] == rows["ann"]["of"] == "10"
    assert 0 < float(rows["'=SUM(1)"]["points"]) < 10
    assert "is not Python" in rows["cy"]["remark"]
    page = (out / "feedback" / "=SUM(1)" / "ex05.txt").read_text(encoding="utf-8")
    assert "the scores are not divided by √D" in page
    assert "a long secret" not in page + (out / "results.json").read_text(encoding="utf-8")
    assert cli.main([*argv, "--json"]) == 0
    assert {row["student"]: row["points"] for row in json.loads(capsys.readouterr().out)["grades"]}["ann"] == 10


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["absent"], "absent is not a folder"),
        (["."], "has no file of an exercise"),
        ([".", "--term-file", "none.txt"], "none.txt cannot be read"),
        ([".", "--term-file", "short.txt"], "a secret needs 8 or more"),
        ([".", "--exercise", "ex77"], "there is no exercise 'ex77'"),
    ],
)
def test_what_an_instructor_may_get_wrong(tmp_path, monkeypatch, capsys, argv, says):
    monkeypatch.chdir(tmp_path)
    Path("short.txt").write_text("abc")
    assert cli.main(["grade", *argv]) == 2
    assert says in capsys.readouterr().err


# Gradescope, by its published description: https://gradescope-autograders.readthedocs.io/en/latest/specs/

VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
FIELDS = {"score": float, "execution_time": float, "output": str, "visibility": str, "stdout_visibility": str,
          "extra_data": dict, "tests": list, "leaderboard": list, "output_format": str, "test_output_format": str,
          "test_name_format": str}  # fmt: skip
TEST_FIELDS = {"score": float, "max_score": float, "status": str, "name": str, "name_format": str, "number": str,
               "output": str, "output_format": str, "tags": list, "visibility": str, "extra_data": dict}  # fmt: skip


def fits(results):
    for told, fields in [(results, FIELDS), *((test, TEST_FIELDS) for test in results["tests"])]:
        for name, value in told.items():
            assert isinstance(value, fields[name]) or (fields[name] is float and isinstance(value, int)), name
        assert told.get("visibility", "visible") in VISIBILITY
        assert told.get("status", "passed") in {"passed", "failed"}
    assert results["score"] == sum(test["score"] for test in results["tests"])
    assert all(0 <= test["score"] <= test["max_score"] for test in results["tests"])


@pytest.mark.parametrize(
    ("text", "points"),
    [
        (RIGHT, 10),
        (STUB, 0),
        ("import nothing_of_the_kind\n", 0),
        (RIGHT.replace("return y * (dy", "return dy * (y"), 5),
    ],
    ids=["perfect", "empty", "broken", "half right"],
)
def test_gradescope_gets_what_it_asks_for(tmp_path, text, points):
    written(tmp_path / "in", "submission", text)
    target = tmp_path / "results" / "results.json"
    argv = ["grade", str(tmp_path / "in" / "submission"), "--exercise", "ex05", "--gradescope", str(target)]
    assert cli.main(argv) == 0
    results = json.loads(target.read_text(encoding="utf-8"))
    fits(results)
    assert results["score"] == points
    assert len(results["tests"]) == len(LESSON.checks)
    assert sum(test["max_score"] for test in results["tests"]) == 10
    if "nothing_of_the_kind" in text:
        assert all("ModuleNotFoundError" in test["output"] for test in results["tests"])


def test_two_hundred_submissions(tmp_path):
    """All exercises, right, empty and wrong ones, hostile ones among them; each gets what it got alone."""
    hostile = [name for name in HOSTILE if name not in ON_LINUX or sys.platform == "linux"]
    expected, folder = {}, tmp_path / "in"
    for number, name in enumerate(hostile):
        text, points, _ = HOSTILE[name]
        expected[written(folder, f"hostile-{number}", text).student, "ex05"] = points
    names = [name for name, source in exercise_files.SOURCES.items() if source.lesson.variant_of is None]
    for number in range(200 - len(hostile)):
        name = names[number % len(names)]
        text, points = (exercise_files.solution, 10) if number % 3 else (exercise_files.stub, 0)
        student = written(folder, f"student-{number}", text(name), exercise_files.file_name(name)).student
        expected[student, name] = points
    submissions, unknown = found(folder)
    assert len(submissions) == 200
    assert not unknown
    lessons = {name: find(name) for name in names}
    begin = time.monotonic()
    marked = grades(submissions, lessons, "public", workers=2, limits=LIMITS)
    print(f"200 submissions in {time.monotonic() - begin:.0f} s on {os.cpu_count()} cores")
    wrong = {grade.key: (grade.marks.points, said(grade)) for grade in marked
             if not expected[grade.key] <= grade.marks.points <= max(expected[grade.key], 0.5)}  # fmt: skip
    assert not wrong
    assert not any(grade.failure for grade in marked)
    assert gradescope.results(marked[:1], 1.0)["tests"]
