"""`minalbert grade`: whose files they are, what is written, and what an instructor may get wrong."""

import csv
import functools
import json
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from submissions import LIMITS, RIGHT, STUB, make_the_grader_fail, written

from minalbert import commands
from minalbert_course.catalogue import find
from minalbert_course.errors import CourseError
from minalbert_course.grade.batch import best, cores_for, grades
from minalbert_course.grade.submissions import found

LESSON = find("ex05")


def test_names_that_do_harm(tmp_path, capsys):
    names = [
        "ann/ex05.txt/ex05_a.py",
        "line\nfeed/ex05_a.py",
        "..ex05.py",
        "...ex05.py",
        "__MACOSX/._ex05.py",
        "a b/ex05.py",
    ]
    for name in names:
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    if sys.platform == "linux":
        path = os.path.join(os.fsencode(tmp_path / "in"), b"\xff\xfe")
        os.mkdir(path)
        with open(os.path.join(path, b"ex05.py"), "w"):
            pass
    assert commands.main(["grade", str(tmp_path / "in")]) == 0
    out = tmp_path / "in-grades"
    pages = sorted(path.name for path in (out / "feedback").iterdir())
    rows = list(csv.reader((out / "grades.csv").read_text(encoding="utf-8").splitlines()))[1:]
    assert len(rows) == len(pages) == 3 + (sys.platform == "linux")
    assert all(re.fullmatch(r"[\w-]+-ex05\.txt", page) for page in pages), pages
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "in-grades"]
    assert len(capsys.readouterr().out.strip().splitlines()) == len(rows) + 1


def test_whose_file_it_is_and_of_which_exercise(tmp_path):
    for name in ("ann/ex05_attention.py", "bob_ex5.ipynb", "sub/cy/EX05 final.py", "dee.py", "text51.py",
                 "ann/.ipynb_checkpoints/ex05_attention-checkpoint.ipynb"):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    known, unknown = found(tmp_path)
    assert {(s.student, s.exercise) for s in known} == {("ann", "ex05"), ("bob", "ex05"), ("sub/cy", "ex05")}
    (tmp_path / "ivy").mkdir()
    _, unmarked = found(tmp_path)
    said = [(sentence.split()[0].rsplit(os.sep)[-1], sentence.split(maxsplit=1)[1]) for sentence in unmarked]
    assert said == [(name, "has no exercise in its name") for name in ("dee.py", "text51.py")] + [
        ("ivy", "has no file to mark")
    ]
    known, unknown = found(tmp_path, "ex05")
    assert {s.student for s in known} == {"ann", "bob", "sub/cy", "dee", "text51"}
    assert [sentence.endswith("ivy has no file to mark") for sentence in unknown] == [True]


def test_of_several_files_the_best_counts(tmp_path):
    submissions = [written(tmp_path, "ann", STUB), written(tmp_path / "x", "ann", RIGHT)]
    marked = best(grades([s._replace(student="ann") for s in submissions], {"ex05": LESSON}, limits=LIMITS))
    assert [grade.marks.points for grade in marked] == [10]


def test_a_process_of_the_grader_that_dies_is_said_in_a_sentence(tmp_path):
    submissions = [written(tmp_path, "ann", RIGHT)]
    with pytest.raises(CourseError, match="a process that marks submissions died: is memory short"):
        grades(submissions, {"ex05": LESSON}, limits=LIMITS, new_worker=functools.partial(os._exit, 3))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not let a process choose its core")
def test_processes_that_fill_the_machine_are_spread_over_its_cores(monkeypatch):
    spawn = multiprocessing.get_context("spawn")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {4, 2})
    queue = cores_for(3, spawn)
    assert [queue.get() for _ in range(3)] == [2, 4, 2]
    assert cores_for(1, spawn) is None  # the system chooses among those that are free


def test_the_command_writes_grades_that_a_spreadsheet_can_be_given(tmp_path, capsys):
    folder, term = tmp_path / "in", tmp_path / "term.txt"
    term.write_text("a long secret\n")
    written(folder, "ann", RIGHT)
    written(folder, "=SUM(1)", RIGHT.replace("/ np.sqrt(q.shape[-1])", "", 1))
    written(folder, "cy", "syntax error")
    argv = ["grade", str(folder), "--exercise", "ex05", "--workers", "2"]
    assert commands.main([*argv, "--term-file", str(term), "--trust"]) == 0
    out = tmp_path / "in-grades"
    assert "3 marked in" in capsys.readouterr().out
    rows = {
        row["student"]: row for row in csv.DictReader((out / "grades.csv").read_text(encoding="utf-8").splitlines())
    }
    assert rows["ann"]["points"] == rows["ann"]["of"] == "10"
    assert 0 < float(rows["'=SUM(1)"]["points"]) < 10
    assert "is not Python" in rows["cy"]["remark"]
    page = next((out / "feedback").glob("_SUM_1_-*-ex05.txt")).read_text(encoding="utf-8")
    assert "the scores are not divided by √D" in page
    assert "a long secret" not in page + (out / "results.json").read_text(encoding="utf-8")
    assert commands.main([*argv, "--json"]) == 0
    assert {row["student"]: row["points"] for row in json.loads(capsys.readouterr().out)["grades"]}["ann"] == 10


def test_what_was_not_handed_in_is_a_row_without_points(tmp_path, capsys):
    folder, names = tmp_path / "in", tmp_path / "class.txt"
    written(folder, "bob", STUB)
    written(folder, "ann", STUB)
    (folder / "ann" / "ex04_gelu.py").write_text(STUB)
    (folder / "ivy").mkdir()
    names.write_text("ann\n\ncy\n")

    def remarks(*argv):
        assert commands.main(["grade", str(folder), "--workers", "2", *argv]) == 0
        text = (tmp_path / "in-grades" / "grades.csv").read_text(encoding="utf-8")
        return {(row["student"], row["exercise"]): (row["points"], row["file"], row["remark"] == "not handed in")
                for row in csv.DictReader(text.splitlines())}  # fmt: skip

    there, absent = ("0", "ex05_attention.py", False), ("0", "", True)
    rows = {("ann", "ex04"): ("0", "ex04_gelu.py", False), ("ann", "ex05"): there, ("bob", "ex04"): absent,
            ("bob", "ex05"): there, ("ivy", "ex04"): absent, ("ivy", "ex05"): absent}  # fmt: skip
    assert list(remarks().items()) == list(rows.items())
    out = capsys.readouterr().out
    assert "bob  ex04              0 / 10  not handed in" in out
    assert "3 marked in" in out
    assert sorted(path.name for path in (tmp_path / "in-grades" / "feedback").iterdir()) == [
        "ann-ex04.txt", "ann-ex05.txt", "bob-ex05.txt"
    ]  # fmt: skip
    assert remarks("--students", str(names), "--exercise", "ex05") == {
        ("ann", "ex05"): there, ("bob", "ex05"): there, ("cy", "ex05"): absent, ("ivy", "ex05"): absent
    }  # fmt: skip


def test_a_file_that_does_not_count_is_named(tmp_path, capsys):
    folder = tmp_path / "in"
    written(folder, "ann", RIGHT)
    (folder / "ann" / "ex05_again.ipynb").write_text("{")
    assert commands.main(["grade", str(folder), "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert "ex05_again.ipynb has 0 points; ex05_attention.py of the same student has 10" in out
    assert "1 marked in" in out


def test_a_failure_of_the_grader_is_told_where_another_file_counts(tmp_path, monkeypatch, capsys):
    """The file that it failed on has 0 points and loses to a worse one."""
    folder = tmp_path / "in"
    written(folder, "ann", RIGHT.replace("/ np.sqrt(q.shape[-1])", "", 1))
    failed = folder / "ann" / "ex05_better.py"
    failed.write_text(RIGHT)
    make_the_grader_fail(monkeypatch, failed.name)
    assert commands.main(["grade", str(folder), "--workers", "2"]) == 1
    sentence = f"{failed}: the grader could not mark this: ZeroDivisionError: of a check"
    assert f"LOOK AT {sentence}" in capsys.readouterr().out
    assert commands.main(["grade", str(folder), "--workers", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["look_at"] == [sentence]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["absent"], "absent is not a folder"),
        ([".", "--students", "none.txt"], "--students none.txt cannot be read"),
        (["."], "has no file of an exercise"),
        ([".", "--term-file", "none.txt"], "none.txt cannot be read"),
        ([".", "--term-file", "short.txt"], "a secret needs 8 or more"),
        ([".", "--exercise", "ex77"], "there is no exercise 'ex77'"),
    ],
)
def test_what_an_instructor_may_get_wrong(tmp_path, monkeypatch, capsys, argv, says):
    monkeypatch.chdir(tmp_path)
    Path("short.txt").write_text("abc")
    assert commands.main(["grade", *argv]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("out", ["in", "in/marks"])
def test_grades_are_not_written_among_the_submissions(tmp_path, monkeypatch, capsys, out):
    monkeypatch.chdir(tmp_path)
    written(Path("in"), "ann", STUB)
    assert commands.main(["grade", "in", "--out", out]) == 2
    assert f"{Path(out)} lies in the submissions' folder" in capsys.readouterr().err
    assert [path.name for path in Path("in").iterdir()] == ["ann"]


def test_grades_of_the_folder_where_one_is_lie_beside_it(tmp_path, monkeypatch):
    written(tmp_path / "in", "ann", STUB)
    monkeypatch.chdir(tmp_path / "in")
    assert commands.main(["grade", ".", "--workers", "1"]) == 0
    assert (tmp_path / "in-grades" / "grades.csv").exists()


def test_without_msgpack_one_sentence_says_what_is_missing(tmp_path):
    code = (
        "import sys; sys.modules['msgpack'] = None; from minalbert.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", code, "grade", str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "minalbert: msgpack is not installed: pip install 'minalbert[grade]'\n"
