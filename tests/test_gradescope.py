"""Gradescope, by its published description: https://gradescope-autograders.readthedocs.io/en/latest/specs/"""

import json
import shutil
import subprocess

import pytest
from submissions import RIGHT, STUB, make_the_grader_fail, written

from exercises import exports
from minalbert import commands
from minalbert_course.catalogue import find

LESSON = find("ex05")


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
    assert commands.main(argv) == 0
    results = json.loads(target.read_text(encoding="utf-8"))
    fits(results)
    assert results["score"] == points
    assert len(results["tests"]) == len(LESSON.checks)
    assert sum(test["max_score"] for test in results["tests"]) == 10
    if "nothing_of_the_kind" in text:
        assert all("ModuleNotFoundError" in test["output"] for test in results["tests"])


@pytest.mark.parametrize(
    ("files", "points"),
    [({}, 0), ({"ex05.py": RIGHT, "ex05_b.py": RIGHT, "mine.py": STUB, "ex04.py": STUB}, 10)],
    ids=["nothing", "three copies"],
)
def test_gradescope_is_told_of_one_student_and_ten_points(tmp_path, files, points):
    for name, text in ({"notes.txt": ""} | files).items():
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    target = tmp_path / "results.json"
    assert commands.main(["grade", str(tmp_path / "in"), "--exercise", "ex05", "--gradescope", str(target)]) == 0
    results = json.loads(target.read_text(encoding="utf-8"))
    fits(results)
    assert results["score"] == points
    assert sum(test["max_score"] for test in results["tests"]) == (10 if files else 0)


@pytest.mark.parametrize("what", ["the grader failed", "a fence fell"])
@pytest.mark.parametrize("other", [[], ["ex05_other.py"]], ids=["one file", "another file"])
def test_no_results_where_a_person_must_look(tmp_path, monkeypatch, capsys, what, other):
    """Gradescope then says that the autograder failed; 0 points in a results.json would look like a grade."""
    written(tmp_path / "in", "submission", RIGHT)
    for name in other:
        (tmp_path / "in" / "submission" / name).write_text(RIGHT)
    target = tmp_path / "results.json"
    target.write_text('{"score": 7}')  # of an earlier run
    if what == "the grader failed":
        make_the_grader_fail(monkeypatch, "ex05_attention.py")
        says = "the grader could not mark this: ZeroDivisionError: of a check"
    else:
        monkeypatch.setattr("minalbert_course.grade.command.fences_here", lambda *_: ["a moat"])
        says = "it ran without a fence: a moat"
    argv = ["grade", str(tmp_path / "in"), "--exercise", "ex05", "--gradescope", str(target)]
    assert commands.main(argv) == 1
    assert not target.exists()
    error = capsys.readouterr().err
    assert f"LOOK AT {tmp_path / 'in' / 'submission' / 'ex05_attention.py'}: {says}" in error
    assert f"{target} is not written, because 0 points there would look like a grade" in error


def test_a_student_hears_which_files_were_not_marked(tmp_path):
    for number in range(6):
        path = tmp_path / "in" / f"ex05_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(STUB if number < 5 else RIGHT, encoding="utf-8")
    target = tmp_path / "results.json"
    assert commands.main(["grade", str(tmp_path / "in"), "--exercise", "ex05", "--gradescope", str(target)]) == 0
    results = json.loads(target.read_text(encoding="utf-8"))
    fits(results)
    assert "not marked: " in results["output"]
    assert "ex05_5.py is one too many: 5 files of one student and exercise are marked" in results["output"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="run_autograder is a script for bash")
@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_run_script_ends_as_the_grader_does(tmp_path, code):
    script = exports.RUN.format(exercise="ex05", term="").replace("/autograder", str(tmp_path))
    program = tmp_path / "venv" / "bin" / "minalbert"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    assert subprocess.run(["bash", "-c", script], check=False).returncode == code
