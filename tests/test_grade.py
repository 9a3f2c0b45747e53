"""A folder of submissions: whose they are, what they get, and what the instructor is given."""

import csv
import functools
import importlib.util
import json
import os
import re
import sys
import tracemalloc
from pathlib import Path

import exercise_files
import numpy as np
import pytest
from submissions import LIMITS, RIGHT, STUB, written

from minalbert import commands
from minalbert_course.catalogue import find
from minalbert_course.errors import CourseError
from minalbert_course.given import Given
from minalbert_course.grade import codec, inside, keeper
from minalbert_course.grade.batch import best, graded, grades
from minalbert_course.grade.fenced import Fenced
from minalbert_course.grade.steps import differing
from minalbert_course.grade.submissions import found
from minalbert_course.values import Stopped
from minalbert_course.yours import OnDevice, Opaque

LESSON = find("ex05")


def test_a_right_file_may_import_what_people_import(tmp_path):
    code = (
        "import ssl, sqlite3, bisect, decimal, zoneinfo\nfrom __future__ import annotations\n"
        "from dataclasses import dataclass\n@dataclass\nclass Cache:\n    y: float\n"
    )
    lines = [
        "from __future__ import annotations",
        code.replace("from __future__ import annotations\n", "import numpy as np\n"),
    ]
    if importlib.util.find_spec("matplotlib"):
        lines.append("import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.figure()\n")
    marks = graded(written(tmp_path, "imports", "\n".join(lines) + RIGHT), LESSON, "a secret", LIMITS).marks
    assert (marks.points, marks.remark) == (10, "")


def test_a_line_of_python_that_begins_with_a_percent_sign_stays(tmp_path):
    cells = [RIGHT, "x = (17\n    % 10)\n", "%time x\nimport math"]
    submission = written(tmp_path, "a", exercise_files.as_notebook(*cells), "ex05_attention.ipynb")
    marks = graded(submission, LESSON, "a secret", LIMITS).marks
    assert (marks.points, marks.remark) == (10, "")


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


def test_too_many_files_of_one_student(tmp_path):
    for number in range(8):
        (tmp_path / f"ann_{number}_ex05.py").write_text("")
        (tmp_path / "bob").mkdir(exist_ok=True)
        (tmp_path / "bob" / f"ex05_{number}.py").write_text("")
    known, unknown = found(tmp_path)
    assert sum(submission.student == "bob" for submission in known) == 5
    assert len(unknown) == 3


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


def test_the_function_that_a_name_has_now_is_called():
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {}, {"one": lambda: 1}
    host, question = inside.HereByBytes(worker.made), {"steps": [step("one")], "goes on": True}
    answers = worker.answer(host, question)["answers"]
    worker.namespace["one"] = lambda: 2
    answers += worker.answer(host, question)["answers"]
    assert [codec.unpacked(answer)["result"] for answer in answers] == [1, 2]


def test_an_argument_that_is_passed_by_its_place_may_have_the_name_of_another():
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {}, {}
    exec("def f(*args, mask=None):\n    args[0][0] = 5\ndef g(*args, mask=None):\n    pass", worker.namespace)
    steps = [step(name, np.ones(2), np.zeros(3), mask=np.ones(4)) for name in ("f", "g")]
    answers = worker.answer(inside.HereByBytes(worker.made), {"steps": steps, "goes on": True})["answers"]
    assert [codec.unpacked(answer)["written"] for answer in answers] == [["its argument args"], []]


def step(name, *args, **static):
    return name, codec.packed((args, static)), [], 0


@pytest.mark.parametrize(("writes", "same"), [("pass", True), ("x[0] = 5", False), ("more[1].pop()", False)])
def test_what_is_not_written_into_comes_back_byte_for_byte(writes, same):
    """Beside a generator and a cache, which the grader only describes."""
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {0: {"a": 1}}, {}
    exec(f"def f(x, rng, more, cache, *, mask):\n    {writes}\n    return rng.random()", worker.namespace)
    arguments = (np.arange(3.0), Given.of("rng", 3), [(1, "a"), [2.5, None]], Opaque(0)), {"mask": np.ones(2, bool)}
    args, static = arguments
    question = {"steps": [step("f", *args, **static)], "goes on": True}
    (answer,) = worker.answer(inside.HereByBytes(worker.made), question)["answers"]
    answer = codec.unpacked(answer)
    assert (answer["after"] is None) is same
    assert same or differing(arguments, codec.unpacked(answer["after"]))
    assert bool(answer["written"]) is not same


def test_many_calls_are_answered_up_to_the_one_that_stops(tmp_path):
    """In questions of sixteen calls; each call has its own result and its own report of what it wrote into."""
    code = "calls = []\ndef relative_error(x, n):\n    calls.append(n)\n    if n == 21: raise ValueError('no more')\n"
    code += "    if n == 3: x[0] = 5\n    return len(calls) * x.sum()\n"
    path = tmp_path / "ex01_finite_differences.py"
    path.write_text(f"{exercise_files.solution('ex01')}\n{code}", encoding="utf-8")
    with Fenced(find("ex01"), path) as host:
        answers = host.calls("relative_error", [((np.ones(2), n), {}) for n in range(40)], ())
        first = [next(answers) for _ in range(21)]
        with pytest.raises(Stopped, match="ValueError: no more"):
            next(answers)
    assert [result for result, _ in first] == [24 if n == 3 else 2 * (n + 1) for n in range(21)]
    assert [n for n, (_, written) in enumerate(first) if written] == [3]


def test_values_travel_and_nothing_else_does():
    arrays = np.arange(6.0).reshape(2, 3), np.array(2, np.float32), np.zeros(0, int)
    value = {"a": [1, 2.5, None, True, "ß"], (1, 2): arrays, "lists": [[1, [2]], [], ([3], [(4,)])],
             "given": Given.of("rng", 3), "cache": Opaque(4), "gpu": OnDevice(np.ones(2))}  # fmt: skip
    message = codec.dumps(value)
    text, body = codec.sizes(message[: codec.HEAD.size])
    assert len(message) == codec.HEAD.size + text + body
    assert repr(back(message)) == repr(value)
    assert repr(back(codec.dumps({1, 2}))) == "a set"
    assert back(codec.dumps([range(2, 4), range(0)])) == [[2, 3], []]
    for scalar, plain in ((np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a")):
        assert back(codec.dumps(scalar)) == plain
    passed_on = back(codec.dumps(codec.packed(value)))
    assert type(passed_on) is codec.Packed
    assert repr(codec.unpacked(passed_on)) == repr(value)
    for broken in (b"{", b'{"<f8": [3]}', b'{"O": [1]}', b'{"<f8": [-1]}', b'{"<f8": 3}',
                   b'{"tuple": 3}', b'{"what": 1}', b'{"value": 1}', b'{"packed": 9}', b'{"packed": -1}',
        b'{"packed": true}', b'{"<f8": ["a", 3]}', b'{"<f8": [[1], 2]}', b'{"<f8": [true]}',
                   b"[" * 10**5):  # fmt: skip
        with pytest.raises(codec.CodecError):
            codec.loads(broken + b"12345678", len(broken))
    with pytest.raises(codec.CodecError, match="64 are allowed"):
        codec.sizes(codec.HEAD.pack(10, 2**40))


def test_a_short_answer_takes_no_memory():
    """A shape of a text and a number would have the text so many times as its size."""
    text = b'{"<f8": ["%b", 100000]}' % (100 * b"a")
    tracemalloc.start()
    try:
        with pytest.raises(codec.CodecError):
            codec.loads(text, len(text))
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def back(message):
    text, _ = codec.sizes(message[: codec.HEAD.size])
    return codec.loads(message[codec.HEAD.size :], text)


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


def test_removing_a_folder_changes_nothing_above_it(tmp_path):
    """Not even where the folder is gone already, which is when the system complains."""
    above, inside = tmp_path / "above", tmp_path / "above" / "folder" / "closed"
    inside.mkdir(parents=True)
    (inside / "file").write_text("")
    inside.chmod(0)
    above.chmod(0o1777 if os.name != "nt" else 0o777)
    before = above.stat().st_mode
    keeper.remove(str(above / "folder"))
    assert not (above / "folder").exists()
    keeper.remove(str(above / "folder"))
    assert above.stat().st_mode == before
