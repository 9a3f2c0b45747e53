"""Steps that are asked early, because complete answers were asked them: nobody's marks depend on it."""

import exercise_files
import numpy as np
import pytest
from test_sequences import TWICE, backward, forward, results

from minalbert_course.catalogue import find
from minalbert_course.grade.batch import graded
from minalbert_course.grade.fenced import Fenced, SubmissionLimits
from minalbert_course.grade.submissions import Submission
from minalbert_course.values import Opaque, Stopped

MISTAKES = {
    "none": "",
    "a constant": "\ndef gelu_forward(x):\n    return 0.4 * x, x\n",
    "a sign": "\nright = tanh_forward\ndef tanh_forward(x):\n    y, cache = right(x)\n    return abs(y), cache\n",
    "it counts its calls": (
        "\nright, calls = gelu_backward, []\n"
        "def gelu_backward(dy, cache):\n    calls.append(0)\n    return right(dy, cache) * (1 + len(calls) // 40)\n"
    ),
    "it stops": "\ndef gelu_backward(dy, cache):\n    raise ValueError('not today')\n",
    "it ends": "\nimport os\ndef gelu_backward(dy, cache):\n    os._exit(0)\n",
    "it never ends": "\ndef gelu_backward(dy, cache):\n    while True: pass\n",
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ex04_gelu.py"
    path.write_text(exercise_files.solution("ex04") + TWICE, encoding="utf-8")
    return path


@pytest.fixture
def questions(monkeypatch):
    """What workers are asked, all of it."""
    asked, ask = [], Fenced.ask
    monkeypatch.setattr(Fenced, "ask", lambda self, what, *more: asked.append(what) or ask(self, what, *more))
    return asked


def asked_of(path, *numbers):
    """The steps by which a submission is asked for these numbers; nothing is run."""
    return Fenced(find("ex04"), path).numbered([forward(n) for n in numbers])


def submission(tmp_path, name, text):
    file = tmp_path / name / exercise_files.file_name("ex04")
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    return Submission(name, "ex04", file)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_marks_are_those_of_a_submission_that_is_marked_alone(tmp_path, mistake):
    lesson, limits, foreseen = find("ex04"), SubmissionLimits(call=1.0, all=60.0), {}
    first = submission(tmp_path, "first", exercise_files.solution("ex04"))
    assert graded(first, lesson, limits=limits, foreseen=foreseen).marks.points == 10
    assert foreseen
    other = submission(tmp_path, "other", exercise_files.solution("ex04") + MISTAKES[mistake])
    alone = graded(other, lesson, limits=limits).marks
    assert graded(other, lesson, limits=limits, foreseen=foreseen).marks == alone
    assert (alone.points == 10) == (mistake == "none")


def test_the_next_complete_answer_is_asked_in_a_third_of_the_questions(tmp_path, questions):
    foreseen, counts = {}, []
    for name in ("first", "second"):
        grade = graded(submission(tmp_path, name, exercise_files.solution("ex04")), find("ex04"), foreseen=foreseen)
        assert grade.marks.points == 10
        counts.append(len(questions) - sum(counts))
    assert counts[1] < counts[0] / 3


def test_incomplete_answers_foretell_nothing(tmp_path):
    foreseen = {}
    graded(submission(tmp_path, "wrong", exercise_files.solution("ex04") + MISTAKES["it stops"]), find("ex04"),
           foreseen=foreseen)  # fmt: skip
    assert not foreseen


def test_what_was_asked_too_early_leaves_no_trace(path):
    """`gelu_forward` counts its calls, and `2 * x * calls` is its y."""
    foreseen = asked_of(path, 1, 1, 1, 1)
    with Fenced(find("ex04"), path, foreseen=foreseen) as host:
        ((first, cache),) = results(host.in_turn([forward(1)]))
        other, gradient = results(host.in_turn([forward(2), backward(cache, 5)]))
    assert isinstance(cache, Opaque)
    assert (first.tolist(), other[0].tolist(), gradient.tolist()) == ([2], [8], [5])


@pytest.mark.parametrize("read", [3, 70])
def test_who_stops_reading_answers_has_asked_as_many_as_without(path, read):
    """Sixty-four of a hundred steps are asked at a time; ten were asked before."""
    found = []
    for foreseen in ((), asked_of(path, *[1] * 150)):
        with Fenced(find("ex04"), path, foreseen=foreseen) as host:
            list(host.in_turn([forward(1)] * 10))
            answers = host.in_turn([forward(1)] * 100)
            assert [next(answers)[0][0].tolist() for _ in range(read)] == [[2 * n] for n in range(11, read + 11)]
            found.append(host.call("gelu_forward", (np.array([3.0]),), {}, (1,))[0][0].tolist())
    assert found == [[6 * (75 if read == 3 else 111)]] * 2


def test_a_step_that_comes_after_an_error_is_not_made(path):
    many = [((np.array([float(n)]),), {}) for n in (1, 7, 1)]
    foreseen = asked_of(path, 1, 7, 1, 1)
    with Fenced(find("ex04"), path, foreseen=foreseen) as host:
        answers = host.calls("gelu_forward", many, (1,))
        next(answers)
        with pytest.raises(Stopped, match="no sevens"):
            next(answers)
        assert host.call("gelu_forward", (np.array([3.0]),), {}, (1,))[0][0] == 18  # the third call of its process


def test_a_worker_that_ends_too_early_is_asked_as_one_alone(path):
    foreseen = asked_of(path, 1, 1, 8)  # which ends the process
    with Fenced(find("ex04"), path, foreseen=foreseen) as host:
        found = results(host.in_turn([forward(1), forward(1)])) + results(host.in_turn([forward(3)]))
    assert [y.tolist() for y, _ in found] == [[2], [4], [18]]


def test_time_that_was_lost_does_not_count(path):
    foreseen = asked_of(path, 1, 1, 9)  # which sleeps for a minute
    with Fenced(find("ex04"), path, SubmissionLimits(call=0.2, all=60.0), foreseen=foreseen) as host:
        found = results(host.in_turn([forward(1)]))
        assert host.clock < 0.5
        found += results(host.in_turn([forward(3)]))
    assert [y.tolist() for y, _ in found] == [[2], [12]]
