"""`minalbert exercise list`: points, the term's exercises, the next step; and what a hand-out's folder knows."""

import json
import os
from pathlib import Path

import exercise_files
import pytest

from exercises import exports
from minalbert import commands
from minalbert_course.catalogue import all_lessons, chosen
from minalbert_course.progress import TERM

SECRET = "a secret of this test"
HALF = exercise_files.solution("ex05").replace("return y * (dy", "return dy * (y")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *argv, code=0):
    assert commands.main(["exercise", *argv]) == code
    captured = capsys.readouterr()
    return captured.out if code != 2 else captured.err


def put(name, text, folder=".", older=0):
    path = Path(folder, exercise_files.file_name(name))
    path.write_text(text, encoding="utf-8")
    os.utime(path, (path.stat().st_mtime - older,) * 2)
    return path


def row(out, exercise):
    return " ".join(next(line for line in out.splitlines() if line.startswith(exercise)).split())


def test_points_are_those_of_the_files_as_they_are(capsys, here):
    put("ex02", exercise_files.solution("ex02"))
    put("ex05", HALF)
    put("ex07", exercise_files.stub("ex07"))
    put("ex08", "while True\n")
    out = said(capsys, "list")
    assert row(out, "ex02").endswith("minutes 10 / 10 ex02_linear_embedding.py")
    assert row(out, "ex05").endswith("minutes 5 / 10 ex05_attention.py")
    assert row(out, "ex07").endswith("minutes")
    assert row(out, "ex08").endswith("minutes 0 / 10 ex08_data.py")
    assert "\n15 of 150 points\n" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    rows = {each["name"]: (each["reached"], each["file"]) for each in json.loads(said(capsys, "list", "--json"))}
    assert rows["ex05"] == (5, "ex05_attention.py")
    assert rows["ex07"] == (None, "ex07_counting.py")
    assert rows["ex01"] == (None, None)
    put("ex05", exercise_files.solution("ex05"))
    assert "10 / 10" in row(said(capsys, "list"), "ex05")
    assert sorted(path.suffix for path in here.iterdir()) == [".py"] * 4  # nothing is kept there


def test_the_next_step_is_a_command_that_can_be_given(capsys, here):
    def follow():
        step = said(capsys, "list").split("\nnext: ")[1]
        command = step.split("then: ")[-1].strip().removeprefix("minalbert exercise ").split()
        assert commands.main(["exercise", *command]) in (0, 1)
        capsys.readouterr()
        return step.strip()

    assert follow() == "minalbert exercise start ex01"
    assert follow() == "write ex01_finite_differences.py, then: minalbert exercise check ex01"
    put("ex05", HALF, older=100)
    put("ex02", exercise_files.solution("ex02"))
    assert follow() == "minalbert exercise check ex05"  # what is begun, before what is not
    put("ex09", exercise_files.stub("ex09") + "# my own\n")
    assert follow() == "minalbert exercise check ex09"  # of two, the one changed last
    Path("ex09_mine.py").write_text("x = 1\n")
    assert follow().startswith("minalbert exercise check ex09 ex09_")


def test_when_all_is_right_a_model_is_trained(capsys, here):
    Path(TERM).write_text('{"exercises": ["ex02"]}')
    put("ex02", exercise_files.solution("ex02"))
    out = said(capsys, "list")
    assert "10 of 10 points" in out
    assert "minalbert pretrain runs/mine --corpus worlds --optimiser lamb --with ." in out


def test_the_folder_that_is_trained_with_has_the_files(capsys, here):
    Path(TERM).write_text('{"exercises": ["ex02"]}')
    Path("python").mkdir()
    Path("python", "ex02_linear_embedding.py").write_text(exercise_files.solution("ex02"))
    assert "--optimiser lamb --with python" in said(capsys, "list")


def test_functions_without_a_place_in_the_model_train_none(capsys, here):
    Path(TERM).write_text('{"exercises": ["ex01"]}')
    put("ex01", exercise_files.solution("ex01"))
    assert "next: nothing" in said(capsys, "list")


def test_a_copy_of_jupyters_is_in_nobodys_way(capsys, here):
    put("ex05", HALF)
    Path("ex05_attention-Copy1.ipynb").write_text(exercise_files.as_notebook(exercise_files.solution("ex05")))
    assert row(said(capsys, "list"), "ex05").endswith("10 / 10 ex05_attention-Copy1.ipynb")
    assert "several files of ex05" in said(capsys, "check", "ex05", code=2)


def test_a_file_that_does_not_end_has_no_points(capsys, here, monkeypatch):
    monkeypatch.setattr("minalbert_course.progress.SECONDS", 0.5)
    put("ex05", exercise_files.solution("ex05") + "\nwhile True: pass\n")
    assert row(said(capsys, "list"), "ex05").endswith("0 / 10 ex05_attention.py")


# A hand-out


@pytest.fixture
def handout(here, monkeypatch):
    exports.student(here / "student", SECRET)
    monkeypatch.chdir(here / "student")
    return here / "student"


def variants():
    return [lesson for lesson in chosen(SECRET).values() if lesson.variant_of]


def test_a_hand_out_lists_its_own_exercises(capsys, handout):
    out = said(capsys, "list")
    assert [line.split()[0] for line in out.splitlines() if line.startswith("ex")] == [
        lesson.name for lesson in chosen(SECRET).values()
    ]
    assert f"the exercises are your course's: {TERM}" in out
    assert f"next: write {Path('python', 'ex01_finite_differences.py')}, then: minalbert exercise check ex01" in out
    assert SECRET not in "".join(path.read_text(encoding="utf-8") for path in handout.rglob("*.*"))


@pytest.mark.parametrize("inside", ["python", "notebooks"])
def test_work_in_a_hand_outs_folders_is_found_from_above(capsys, handout, inside):
    lesson = variants()[0]
    stem = Path(exercise_files.file_name(lesson.name)).stem
    text = exercise_files.solution(lesson.name)
    path = Path(inside, stem + (".py" if inside == "python" else ".ipynb"))
    path.write_text(text if inside == "python" else exercise_files.as_notebook(text), encoding="utf-8")
    assert row(said(capsys, "list"), lesson.name).endswith(f"10 / 10 {path}")
    assert said(capsys, "check", lesson.exercise).startswith(f"{lesson.name} ")
    assert "everything is right already" in said(capsys, "hint", lesson.exercise)


@pytest.mark.parametrize("where", [".", "python/mine", "copied"])
def test_start_writes_the_variant_that_the_term_has(capsys, handout, monkeypatch, where):
    (handout / where).mkdir(exist_ok=True)
    if where == "copied":
        (handout / "python" / TERM).rename(handout / where / TERM)
    monkeypatch.chdir(handout / where)
    assert len(variants()) > 1
    for lesson in variants():
        out = said(capsys, "start", lesson.exercise)
        name = exercise_files.file_name(lesson.name)
        assert out.startswith(f"wrote {name} ({lesson.title}, which your course has as {lesson.exercise})\n")
        assert Path(name).read_text(encoding="utf-8") == exercise_files.stub(lesson.name)
        assert f"{lesson.name}, " in said(capsys, "hint", lesson.exercise)


def test_another_variants_file_is_marked_as_the_terms(capsys, handout, monkeypatch):
    lesson = variants()[0]
    Path("mine").mkdir()
    monkeypatch.chdir("mine")
    path = put(lesson.variant_of, exercise_files.solution(lesson.variant_of))
    out = said(capsys, "check", lesson.exercise, code=1)
    assert out.startswith(f"{path.name} is of {lesson.variant_of} by its name; your course has {lesson.name}, and it")
    assert " 0 / 10" in out
    assert " 0 / 10 " in row(said(capsys, "list"), lesson.name)


@pytest.mark.parametrize(
    "text", ["", '{"exercises": []}', "[]", "{}", '{"exercises": 5}', '{"exercises": ["ex99"]}', '{"exercises": [[]]}']
)
def test_a_damaged_file_of_the_term_is_named(capsys, here, text):
    Path(TERM).write_text(text)
    for argv in (["list"], ["start", "ex05"]):
        assert 'must be like {"exercises": ["ex01", "ex03-rms"]}' in said(capsys, *argv, code=2)


def test_a_classrooms_folder_knows_its_one_exercise(capsys, here, monkeypatch):
    (here / "a.whl").write_text("")
    exports.classroom(here / "classroom", SECRET, here / "a.whl")
    lesson = variants()[0]
    monkeypatch.chdir(here / "classroom" / lesson.exercise)
    out = said(capsys, "list")
    assert [line.split()[0] for line in out.splitlines() if line.startswith("ex")] == [lesson.name]
    assert set(all_lessons()) > {lesson.name}
