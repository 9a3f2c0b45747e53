"""An exercise as a student meets it: the commands, pytest, a notebook's last cell."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import exercise_files
import pytest

import minalbert.layers
from minalbert import commands
from minalbert_course.catalogue import all_lessons, find
from minalbert_course.marking import check

RIGHT = exercise_files.solution("ex05")
NO_SCALE = RIGHT.replace("softmax_backward(dprobs, softmax_cache) / np.sqrt(q.shape[-1])",
                         "softmax_backward(dprobs, softmax_cache)")  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *argv, code=0):
    assert commands.main(["exercise", *argv]) == code
    captured = capsys.readouterr()
    return captured.out if code != 2 else captured.err


def test_fifteen_exercises_in_order(capsys, here):
    out = said(capsys, "list")
    names = [line.split()[0] for line in out.splitlines() if line.startswith("ex")]
    assert names == [f"ex{number:02d}" for number in range(1, 16)]
    assert said(capsys) == out
    rows = json.loads(said(capsys, "list", "--json"))
    assert all(row["points"] == 10 and 20 <= row["minutes"] <= 120 for row in rows)


@pytest.mark.parametrize("number", range(1, 16))
@pytest.mark.parametrize("notebook", [False, True], ids=["file", "notebook"])
def test_start_then_check_then_hint(capsys, here, number, notebook):
    name = f"ex{number:02d}"
    said(capsys, "start", name, *(["--notebook"] if notebook else []))
    (path,) = here.iterdir()
    assert path.suffix == (".ipynb" if notebook else ".py")
    out = said(capsys, "check", str(number), code=1)
    assert " 0 / 10" in out
    assert "is not written yet" in out
    first = next(iter(find(name).functions))
    for level in ("1", "2", "3"):
        assert said(capsys, "hint", name, level).startswith(f"{name}, ")
    assert f"{name}, {first}, idea:" in said(capsys, "hint", name, "--of", first)
    assert f"next: write {path.name}, then: minalbert exercise check {name}" in said(capsys, "list")
    path.write_text(path.read_text(encoding="utf-8").replace("Exercise", "My exercise"), encoding="utf-8")
    assert f" 0 / 10  {path.name}" in said(capsys, "list")


def test_the_formula_comes_before_the_first_hint(capsys, here):
    attention = ["ex05, attention_backward, formula:", r"  P = softmax(q k^\top / \sqrt{D} + mask)", "  context = P v",
                 "ex05, attention_backward, idea:"]  # fmt: skip
    assert said(capsys, "hint", "ex05", "--of", "attention_backward").splitlines()[:4] == attention
    assert r"  y_i = \exp(x_i) / \sum_j \exp(x_j)" in said(capsys, "hint", "ex05", "--of", "softmax_forward")
    assert "formula" not in said(capsys, "hint", "ex05", "2", "--of", "softmax_forward")
    assert said(capsys, "hint", "ex07", "--of", "break_even").startswith("ex07, break_even, idea:")
    average = said(capsys, "hint", "ex11", "--of", "accumulate")
    assert r"\frac{\sum_{all masked words} \ell_{word}}{their number in all slices}" in average


def test_other_files_are_in_nobodys_way(capsys, here):
    (here / "ex05_notes.txt").write_text("")
    (here / "ex05_folder.py").mkdir()
    said(capsys, "start", "ex05")
    assert "0 / 10" in said(capsys, "check", "ex05", code=1)


def test_start_never_overwrites(capsys, here):
    said(capsys, "start", "ex05")
    Path("ex05_attention.py").write_text("my work")
    assert "is there already, and stays as it is" in said(capsys, "start", "ex05", code=2)
    assert "is there already" in said(capsys, "start", "ex05", "--notebook", code=2)
    assert Path("ex05_attention.py").read_text() == "my work"


def test_a_full_disk_leaves_nothing_that_start_would_refuse(capsys, here, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", full)
        assert "ex05_attention.py could not be written (No space left" in said(capsys, "start", "ex05", code=2)
    assert list(here.iterdir()) == []
    said(capsys, "start", "ex05")


def test_the_report_names_the_cause(capsys, here):
    Path("ex05_attention.py").write_text(NO_SCALE, encoding="utf-8")
    out = said(capsys, "check", "ex05", code=1)
    assert out.startswith("ex05 softmax and attention")
    for text in ("7 / 10", "[1.5/1.5] dv", "[0/1.5] dq", "dq: worst entry [b=", "ratio 2.449", "(√D)", "dq = dS k / √D",
                 "minalbert exercise hint ex05 --of attention_backward"):  # fmt: skip
        assert text in out
    assert all(len(line) <= 100 for line in out.splitlines())
    told = json.loads(said(capsys, "check", "ex05", "--json", code=1))
    assert (told["points"], told["of"]) == (7, 10)
    assert "attention_backward, idea" in said(capsys, "hint", "ex05")
    assert "[0/1.5] dq" in said(capsys, "check", "ex05", "--only", "dq", code=1)
    assert "1.5 / 1.5" in said(capsys, "check", "ex05", "--only", "dv")


def test_all_is_right(capsys, here):
    Path("ex05_attention.py").write_text(RIGHT, encoding="utf-8")
    assert "10 / 10" in said(capsys, "check", "ex05")
    assert "everything is right already" in said(capsys, "hint", "ex05")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["check", "ex05"], "`minalbert exercise start ex05` writes one"),
        (["check", "ex05", "none.py"], "none.py is not a file"),
        (["check", "ex05", "notes.txt"], "neither a Python file nor a notebook"),
        (["check", "ex99"], "there is no exercise 'ex99'; there are ex01, ex02"),
        (["start", "ex05-zzz"], "there is no exercise 'ex05-zzz'; there are ex05"),
        (["start", "attention"], "there is no exercise 'attention'"),
        (["hint", "ex05", "--of", "gelu"], "ex05 has no function 'gelu'; it asks for softmax_forward"),
        (["check", "ex05", "right.py", "--only", "dz"], "ex05 has no check 'dz'; it has softmax"),
        (["check", "ex05", "bad.ipynb"], "bad.ipynb is not a notebook"),
    ],
)
def test_what_a_student_may_get_wrong(capsys, here, argv, says):
    Path("notes.txt").write_text("")
    Path("bad.ipynb").write_text("{}")
    Path("right.py").write_text(RIGHT, encoding="utf-8")
    assert says in said(capsys, *argv, code=2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def softmax_forward(x:\n", "is not Python: line 1: '(' was never closed"),
        ("import nothing_like_it\n", "stopped at line 1 of ex05_attention.py: ModuleNotFoundError"),
        ("softmax_forward = 3\n", "has none of the functions: softmax_forward, softmax_backward"),
        ("def softmax_forward(x):\n    return x\n", "softmax_forward returned an array; it must return (y, cache)"),
        ("def softmax_forward(x):\n    return 1, 2, 3\n", "returned 3 values; it must return 2: (y, cache)"),
        ("def softmax_forward(x):\n    return None, 0\n", "y is None; it must be an array of shape"),
        ("def softmax_forward(x):\n    return x + 1j, 0\n", "y is complex"),
        ("def softmax_forward(x):\n    return x[0], 0\n", "y has shape (5, 4); it must be (2, 5, 4)"),
        ("def softmax_forward(x):\n    return x / zero, 0\n", "at line 2 of ex05_attention.py: NameError"),
        ("def softmax_forward(x):\n    return x * float('nan'), 0\n", "that is not finite is at [0, 0, 0]"),
        ("from minalbert.layers import softmax\ndef softmax_forward(x):\n    return softmax(x), 0\n",
         "the library's softmax is the answer to this exercise"),
        ("from minalbert.layers import softmax\ndef softmax_forward(x, theirs=softmax):\n    return theirs(x), 0\n",
         "the library's softmax is the answer to this exercise"),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_a_file_is_said_in_a_sentence(capsys, here, text, says):
    Path("ex05_attention.py").write_text(text)
    out = " ".join(said(capsys, "check", "ex05", code=1).split())
    assert says in out
    assert "Traceback" not in out


def test_two_files_of_one_exercise(capsys, here):
    for name in ("ex05_attention.py", "ex05_mine.py"):
        Path(name).write_text(RIGHT, encoding="utf-8")
    assert "several files of ex05: ex05_attention.py, ex05_mine.py" in said(capsys, "check", "ex05", code=2)
    assert "10 / 10" in said(capsys, "check", "ex05", "ex05_mine.py")


def test_a_notebook_is_read_as_its_cells(capsys, here):
    cells = ["%matplotlib inline\nimport numpy as np", RIGHT, "1 / 0"]
    Path("ex05_attention.ipynb").write_text(exercise_files.as_notebook(*cells), encoding="utf-8")
    out = said(capsys, "check", "ex05")
    assert "10 / 10" in out
    assert "ZeroDivisionError" in out


def test_the_last_cell_prints_the_report_and_is_the_points(capsys):
    namespace = {"__name__": "__main__"}
    exec(NO_SCALE.split("from minalbert_course import check")[0], namespace)
    assert check("ex05", namespace) == 7
    assert "7 / 10" in capsys.readouterr().out
    assert check("ex05", namespace | {"__name__": "ex05_attention"}) is None


def test_a_notebook_cannot_hand_in_the_librarys_answer(capsys):
    namespace = {"__name__": "__main__"}
    exec("from minalbert.layers import *\n", namespace)
    assert check("ex05", namespace) == 0
    assert "softmax_forward is the library's own" in capsys.readouterr().out
    code = "from minalbert.layers import softmax_forward as theirs\ndef softmax_forward(x):\n    return theirs(x)\n"
    exec(code, namespace)
    assert check("ex05", namespace) == 0
    assert "the library's softmax_forward is the answer" in capsys.readouterr().out
    assert minalbert.layers.softmax_forward is namespace["theirs"]


def test_the_tables_of_the_library_give_no_answer_either(capsys):
    namespace = {"__name__": "__main__"}
    code = "from minalbert.layers import GELU\ndef gelu_forward(x):\n    return GELU['tanh'][0](x)\n"
    exec(code, namespace)
    assert check("ex04", namespace) == 0
    assert "the library's gelu_forward is the answer" in capsys.readouterr().out


def test_a_variant_is_known_by_its_file(capsys, here):
    for lesson in all_lessons().values():
        if lesson.variant_of:
            name = exercise_files.file_name(lesson.name)
            Path(name).write_text(exercise_files.solution(lesson.name), encoding="utf-8")
            assert f"{lesson.name} " in said(capsys, "check", lesson.exercise)
            Path(name).unlink()


def test_who_asks_for_a_variant_hears_that_another_one_is_marked(capsys, here):
    said(capsys, "start", "ex07")
    out = said(capsys, "check", "ex07-gated", code=1)
    assert out.startswith("ex07_counting.py is marked as ex07, and not as ex07-gated: its name says so\n")
    assert said(capsys, "check", "ex07", code=1).startswith("ex07 ")


def test_where_a_file_ends_the_program_is_said(capsys, here):
    Path("ex05_attention.py").write_text(f"import sys\nsys.exit(0)\n{RIGHT}", encoding="utf-8")
    assert "calls sys.exit at line 2 of ex05_attention.py, which ends" in " ".join(said(capsys, "check", "5").split())


# pytest -m ex05


def run_pytest(folder, *argv, timeout=None):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *argv]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False, timeout=timeout)


def test_pytest_has_a_test_for_each_check(here):
    Path("ex05_attention.py").write_text(NO_SCALE, encoding="utf-8")
    result = run_pytest(here, "-m", "ex05")
    assert "3 failed, 7 passed" in result.stdout, result.stdout + result.stderr
    assert "ratio 2.449" in result.stdout
    assert "ex05[dq]" in result.stdout
    assert "Traceback" not in result.stdout
    assert "1 failed" in run_pytest(here, "-m", "ex05", "-k", "dq").stdout


def test_pytest_without_the_file_says_where_it_looked(here):
    result = run_pytest(here, "-m", "ex05")
    assert "there is no ex05_*.py here" in result.stderr
    assert result.returncode == 4


@pytest.mark.parametrize("expression", ["not ex05", "ex99", "not ex99", "slow and ex05", "ex05 and not ex05"])
def test_other_expressions_are_left_to_pytest(here, expression):
    Path("test_nothing.py").write_text("def test_one():\n    assert True\n")
    result = run_pytest(here, "-m", expression)
    assert ("1 passed" if expression.startswith("not") else "1 deselected") in result.stdout
    assert not result.stderr


def test_pytest_takes_two_exercises_and_a_folder(here):
    for name in ("ex05", "ex07"):
        path = here / "mine" / exercise_files.file_name(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(exercise_files.solution(name), encoding="utf-8")
    count = sum(len(find(name).checks) for name in ("ex05", "ex07"))
    assert f"{count} passed" in run_pytest(here, "-m", "ex05 or ex07", "mine").stdout


def test_pytest_without_the_marker_has_nothing_to_do_with_exercises(here):
    Path("test_nothing.py").write_text("def test_one():\n    assert True\n")
    Path("ex05_attention.py").write_text(NO_SCALE, encoding="utf-8")
    assert "1 passed" in run_pytest(here).stdout


@pytest.mark.parametrize("where", ["file", "function"])
def test_an_endless_loop_is_ended_and_named(capsys, here, monkeypatch, where):
    monkeypatch.setattr("minalbert_course.command.SECONDS", 1)
    loop = "while True:\n    pass\n"
    inside = "def softmax_forward(x):\n    while True:\n        pass\n"
    (here / "ex05_attention.py").write_text(RIGHT + "\n\n" + (loop if where == "file" else inside))
    sentence = said(capsys, "check", "ex05", code=2)
    assert "ex05_attention.py took more than 1 s and was ended" in sentence
    assert "is there a loop that never ends?" in sentence
    assert ("softmax_forward stopped at line" in sentence) == (where == "function")


@pytest.mark.parametrize("where", ["file", "function"])
def test_an_endless_loop_is_ended_under_pytest_too(here, where):
    """Once, for all tests of the exercise."""
    Path("conftest.py").write_text("from minalbert_course import ending\n\nending.SECONDS = 1\n")
    loop = "while True: pass\n" if where == "file" else "def softmax_forward(x):\n    while True: pass\n"
    Path("ex05_attention.py").write_text(f"{RIGHT}\n\n{loop}", encoding="utf-8")
    out = run_pytest(here, "-m", "ex05", timeout=60).stdout
    assert "10 failed in" in out
    assert out.count("ex05_attention.py took more than 1 s and was ended") >= 10
    assert ("softmax_forward stopped at line" in out) == (where == "function")
    assert "Traceback" not in out


def test_a_file_that_cannot_be_read_is_a_sentence_under_pytest_too(here):
    Path("ex05_attention.py").write_bytes(b"\xff\xfe\x00")
    out = run_pytest(here, "-m", "ex05").stdout
    assert "10 failed in" in out
    assert "ex05_attention.py is not a text file" in out
    assert "CourseError" not in out


def test_an_endless_loop_is_ended_in_a_notebooks_last_cell_too(capsys, monkeypatch):
    monkeypatch.setattr("minalbert_course.marking.SECONDS", 1)
    namespace = {"__name__": "__main__"}
    exec(RIGHT.split("from minalbert_course import check")[0], namespace)
    exec("def softmax_forward(x):\n    while True: pass\n", namespace)
    assert check("ex05", namespace) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "0 / 10" in out
    assert "ex05 took more than 1 s and was ended (softmax_forward stopped); is there a loop that never ends?" in out


def test_a_notebook_in_a_browser_is_checked_without_a_limit(capsys, monkeypatch):
    """Python in a browser starts no threads."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    namespace = {"__name__": "__main__"}
    exec(RIGHT.split("from minalbert_course import check")[0], namespace)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("minalbert_course.ending.sys.platform", "emscripten")
    assert check("ex05", namespace) == 10
