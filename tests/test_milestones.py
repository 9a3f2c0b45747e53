"""What an exercise's command says once functions of the student's work in the model: a line with a number."""

import re
from pathlib import Path

import exercise_files
import pytest

from minalbert import commands
from minalbert_course import milestones
from minalbert_course.catalogue import find


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(milestones, "STEPS", 30)


def line(name, right="", wrong=""):
    """The milestone of an exercise's solution in this folder, perhaps with another text in the place of one."""
    path, text = Path(exercise_files.file_name(name)), exercise_files.solution(name)
    assert text.count(right) == 1 or not right
    path.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    return milestones.milestone(find(name), path)


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+|\de[+-]\d+", text)]


def test_the_students_encoder_is_what_runs():
    mine, library = numbers(line("ex06"))
    assert mine == library
    mine, library = numbers(line("ex06", "for _ in range(layers)", "for _ in range(layers - 1)"))
    assert mine != library


def test_the_students_losses_are_what_is_trained():
    before, after = numbers(line("ex09"))
    assert after < before - 0.4
    a_sum = "share = weights / total if total > 0 else np.zeros_like(weights)"
    assert numbers(line("ex09", a_sum, "share = weights"))[0] > 10 * before


def test_the_students_lamb_makes_the_steps():
    before, after = numbers(line("ex10"))
    assert after < before - 0.1
    assert numbers(line("ex10", "return w - rate * ratio * u,", "return w,"))[1] > after


def test_the_reader_and_what_was_written_before_give_transformers_logits():
    alone = line("ex13")
    assert "computed by the library's functions" in alone
    assert numbers(alone)[0] < 1e-6
    line("ex05")
    line("ex06")
    together = line("ex13")
    assert "computed by your attention, encoder" in together
    assert numbers(together)[0] < 1e-6
    line("ex06", "for _ in range(layers)", "for _ in range(layers - 1)")
    assert numbers(line("ex13"))[0] > 1e-3


def test_a_file_beside_it_that_is_wrong_is_left_out():
    line("ex05", "softmax_backward(dprobs, softmax_cache) / np.sqrt(q.shape[-1])",
         "softmax_backward(dprobs, softmax_cache)")  # fmt: skip
    assert numbers(line("ex06"))[0] == numbers(line("ex06"))[1]


def test_check_and_list_say_it_and_only_then(capsys):
    Path(exercise_files.file_name("ex06")).write_text(exercise_files.stub("ex06") + "\n# begun\n", encoding="utf-8")
    assert commands.main(["exercise", "check", "ex06"]) == 1
    assert commands.main(["exercise", "list"]) == 0
    assert "milestone" not in capsys.readouterr().out
    said = line("ex06")
    assert commands.main(["exercise", "check", "ex06"]) == 0
    assert commands.main(["exercise", "list"]) == 0
    assert capsys.readouterr().out.count(f"milestone: {said}") == 2


def test_code_that_does_not_run_in_the_model_has_no_milestone(capsys):
    assert line("ex10", "return w - rate * ratio * u,", "raise SystemExit\n    return w,") is None
    assert capsys.readouterr().out == ""
    assert line("ex01") is None
