"""Several calls in one go: with caches that one of them makes for another, and with calls that end badly."""

import os

import exercise_files
import numpy as np
import pytest

from minalbert_course import files
from minalbert_course.catalogue import find
from minalbert_course.grade import codec, inside, steps
from minalbert_course.grade.fenced import Fenced, SubmissionLimits
from minalbert_course.grade.pipes import Ended, Pipes
from minalbert_course.here import Here
from minalbert_course.values import CacheOf, NotWritten, Opaque, OutOfTime, Step, Stopped
from minalbert_course.yours import Yours

TWICE = """
import os, time
calls = []

def gelu_forward(x):
    calls.append(len(x))
    if x[0] == 7: raise ValueError("no sevens")
    if x[0] == 8: os._exit(0)
    if x[0] == 9: time.sleep(60)
    if x[0] == 10: time.sleep(0.06)
    return 2 * x * len(calls), {"x": x}

def gelu_backward(dy, cache):
    return dy * cache["x"]
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ex04_gelu.py"
    path.write_text(exercise_files.solution("ex04") + TWICE, encoding="utf-8")
    return path


@pytest.fixture(params=["here", "fenced"])
def host(request, path):
    if request.param == "here":
        yield Here(files.run(path, [])[0], path)
        return
    with Fenced(find("ex04"), path) as found:
        yield found


def forward(*numbers):
    return Step("gelu_forward", (np.array(numbers, float),), {}, (1,))


def backward(cache, *numbers):
    return Step("gelu_backward", (np.array(numbers, float), cache), {}, ())


def results(answers):
    return [answer if isinstance(answer, Exception) else answer[0] for answer in answers]


def test_a_step_gets_the_cache_of_an_earlier_one(host):
    steps = [forward(1, 2), forward(3, 4), backward(CacheOf(0, 1), 5, 6), backward(CacheOf(1, 1), 5, 6)]
    (first, cache), _, of_first, of_second = results(host.in_turn(steps))
    assert isinstance(cache, Opaque)
    assert [first.tolist(), of_first.tolist(), of_second.tolist()] == [[2, 4], [5, 12], [15, 24]]
    assert host.call("gelu_backward", (np.ones(2), cache), {}, ())[0].tolist() == [1, 2]


def test_an_error_is_the_answer_of_its_step_and_the_others_are_asked(host):
    steps = [forward(1), forward(7), backward(CacheOf(1, 1), 1), Step("absent", (1,), {}, ()), forward(1)]
    (first, _), stopped, without_cache, absent, (last, _) = results(host.in_turn(steps))
    assert first.tolist() == [2]
    assert "no sevens" in str(stopped)
    assert isinstance(without_cache, Stopped)
    assert isinstance(absent, NotWritten)
    assert last.tolist() == [6]  # the third call of this process


def test_of_many_calls_none_is_made_after_one_that_stops(host):
    answers = host.calls("gelu_forward", [((np.array([n]),), {}) for n in (1.0, 7.0, 1.0)], (1,))
    assert next(answers)[0][0] == 2
    with pytest.raises(Stopped, match="no sevens"):
        next(answers)
    assert host.call("gelu_forward", (np.ones(1),), {}, (1,))[0][0] == 6  # the third call of this process


def test_a_check_that_fails_has_made_no_calls_beyond(host):
    """Its last call is where a cause is looked for."""
    yours = Yours(find("ex04"), host)
    answers = yours.each("gelu_forward", ((np.full(2, n),) for n in (1.0, 3.0, 7.0)))
    assert next(answers)[0].tolist() == [2, 2]
    assert [call.args[0][0] for call in yours.made] == [1]
    next(answers)
    with pytest.raises(Stopped, match="no sevens") as stopped:
        next(answers)
    assert stopped.value.of == "gelu_forward"
    assert [call.args[0][0] for call in yours.made] == [1, 3]


@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="how much a worker takes is not known there")
def test_where_a_step_ends_the_worker_the_others_have_their_answers(path):
    with Fenced(find("ex04"), path, SubmissionLimits(call=1.0, all=60.0)) as host:
        answers = results(host.in_turn([forward(1), forward(8), forward(3), backward(CacheOf(2, 1), 1), forward(9)]))
        (first, _), ended, (third, _), gradient, late = answers
    assert (first.tolist(), third.tolist(), gradient.tolist()) == ([2], [6], [3])
    assert "ended the whole process" in str(ended)
    assert isinstance(late, OutOfTime)


@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="how much a worker takes is not known there")
@pytest.mark.parametrize("end", [8, 9])
def test_a_later_call_that_ends_the_worker_hides_no_answer_before_it(path, end):
    """A check that finds the first answer wrong never comes to the call that crashes, or that takes too long."""
    with Fenced(find("ex04"), path, SubmissionLimits(call=1.0, all=60.0)) as host:
        yours = Yours(find("ex04"), host)
        assert next(yours.each("gelu_forward", [(np.full(2, n),) for n in (1.0, 3.0, end)]))[0].tolist() == [2, 2]
        assert yours.gelu_forward(np.ones(3))[0].tolist() == [4, 4, 4]
        assert not host.endless


def test_a_step_that_takes_too_long_costs_the_others_nothing(path):
    with Fenced(find("ex04"), path, SubmissionLimits(call=1.0, all=60.0)) as host:
        (first, _), (second, _), late, again = results(host.in_turn([forward(1), forward(3), forward(9), forward(1)]))
        assert (first.tolist(), second.tolist()) == ([2], [12])
        assert isinstance(late, OutOfTime)
        assert isinstance(again, OutOfTime)  # and is not asked any more


def test_a_question_lasts_no_longer_than_a_call_and_a_moment(path, monkeypatch):
    """Each of these calls takes .06 seconds: two of them fill a moment."""
    asked = []
    ask = Fenced.ask
    monkeypatch.setattr(
        Fenced, "ask", lambda self, question, *more: asked.append(question) or ask(self, question, *more)
    )
    with Fenced(find("ex04"), path) as host:
        found = results(host.in_turn([forward(10)] * 6))
    assert [y.tolist() for y, _ in found] == [[20 * n] for n in range(1, 7)]
    assert len([question for question in asked if "steps" in question]) >= 3


def test_what_is_too_much_for_one_message_goes_into_several(path, monkeypatch):
    monkeypatch.setattr(codec, "LARGE", 20_000)  # of questions; in the worker it stays as it is
    large = Step("gelu_forward", (np.ones(1000),), {}, (1,))
    with Fenced(find("ex04"), path) as host:
        found = results(host.in_turn([large] * 5))
    assert [y[0] for y, _ in found] == [2, 4, 6, 8, 10]
    assert len(steps.of_one_message([Sized(9_000)] * 5)) == 2
    assert len(steps.of_one_message([Sized(30_000)] * 5)) == 1


class Sized:
    def __init__(self, size):
        self.packed = bytes(size)


PEEK = """
import sys

def gelu_forward(x):
    frame = sys._getframe()
    while "asked" not in frame.f_locals: frame = frame.f_back
    return len(frame.f_locals["asked"]["steps"]), None
"""


def test_nothing_waits_in_a_worker_that_no_check_has_asked(path):
    """A submission can read the steps that wait, and the arguments of a later one might be the answer to this one."""
    path.write_text(exercise_files.solution("ex04") + PEEK, encoding="utf-8")
    with Fenced(find("ex04"), path) as host:
        assert [host.call("gelu_forward", (np.ones(1),), {}, (1,))[0][0] for _ in range(3)] == [1, 1, 1]
        assert [y for y, _ in results(host.in_turn([forward(1)] * 5))] == [5] * 5


def test_a_worker_leaves_large_results_to_the_next_question(monkeypatch):
    monkeypatch.setattr(codec, "LARGE", 20_000)
    worker = inside.Worker(None, None, {})
    worker.caches, worker.namespace = {}, {"f": lambda n: np.zeros(n)}
    asked = [("f", codec.packed(((n,), {})), [], 0) for n in (10, 3000, 10)]
    answers = worker.answer(inside.HereByBytes(worker.made), {"steps": asked, "goes on": True})["answers"]
    assert len(answers) == 2


def test_a_second_answer_to_one_question_is_refused():
    """Or it would be taken for that to the next question."""
    (taken, to), (back, sent) = os.pipe(), os.pipe()
    pipes = Pipes(os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0))
    try:
        os.write(sent, codec.dumps({"a": 1}))
        assert pipes.ask({}, Patient()) == {"a": 1}
        os.write(sent, 2 * codec.dumps({"a": 1}))
        assert pipes.ask({}, Patient()) == Ended("sent more than one answer")
    finally:
        pipes.close()
        os.close(taken)
        os.close(sent)


class Patient:
    exceeded = None
