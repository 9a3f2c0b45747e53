"""Many calls that differ in their generator alone: each has its own answer, as if it had been asked alone."""

import exercise_files
import numpy as np
import pytest

from minalbert_course import files
from minalbert_course.catalogue import find
from minalbert_course.drawn import drawn
from minalbert_course.given import Given
from minalbert_course.grade.fenced import Fenced, SubmissionLimits
from minalbert_course.here import Here
from minalbert_course.values import Opaque, OutOfTime, Stopped

DOCUMENT = [[5, 6], [7], [8, 9]]
GIVEN = "memory of a list that it was given"
COUNT = """
import os, time, warnings
import numpy as np
calls, born = [], time.time_ns()

class Tokens(list): pass
KEPT = Tokens()

def order_pair(document, rng):
    calls.append(1)
    number, place = int(rng.integers(1000)), {place}
    {does}
    return list(document[0]), place, number
"""


@pytest.fixture(params=["here", "fenced"])
def host_of(request, tmp_path):
    """does -> a host of an order_pair that does this, with the `number` that it draws, then returns a sentence"""
    hosts = []

    def host(does, place="0", **limits):
        path = tmp_path / "ex08_data.py"
        path.write_text(exercise_files.solution("ex08") + COUNT.format(does=does, place=place), encoding="utf-8")
        if request.param == "here":
            return Here(files.run(path, [])[0], path)
        hosts.append(Fenced(find("ex08"), path, SubmissionLimits(**limits)))
        return hosts[-1].__enter__()

    yield host
    for each in hosts:
        each.close()


def with_seeds(seeds, document=DOCUMENT):
    return [((document, Given.of("rng", seed)), {}) for seed in seeds]


def number(seed):
    return int(np.random.default_rng(seed).integers(1000))


def test_each_call_has_its_own_generator_and_its_own_copies(host_of):
    does = f"if number in {[number(3), number(90)]}: document[0].append(4)"
    answers = list(host_of(does).calls("order_pair", with_seeds(range(150)), ()))
    assert [drawn for (_, _, drawn), _ in answers] == list(map(number, range(150)))
    assert {seed: part for seed, ((part, _, _), _) in enumerate(answers) if part != [5, 6]} == {
        3: [5, 6, 4], 90: [5, 6, 4]}  # fmt: skip
    assert {what for _, wrote in answers for what in wrote} == {"its argument document"}


def test_what_was_given_is_not_returned_by_any_of_them(host_of):
    does = f"if number == {number(77)}: return document[0], place, number"
    answers = host_of(does).calls("order_pair", with_seeds(range(80)), ())
    assert [what for _, wrote in answers for what in wrote] == [GIVEN]


def test_a_later_call_does_not_change_an_earlier_result(host_of):
    answers = host_of("KEPT[:] = [number]; return KEPT, place, number").calls("order_pair", with_seeds(range(9)), ())
    assert [part for (part, _, _), _ in answers] == [[number(seed)] for seed in range(9)]


def test_a_filter_of_warnings_is_gone_with_its_call(host_of):
    does = "np.arange(2) / 0; warnings.simplefilter('error')"
    assert len(list(host_of(does).calls("order_pair", with_seeds(range(9)), ()))) == 9
    documents = [DOCUMENT, [[5], [6]]]
    many = [call for document in documents for call in with_seeds([1], document)]
    assert len(list(host_of(does).calls("order_pair", many, ()))) == 2


def test_all_before_the_one_that_stops_are_answered(host_of):
    answers = host_of(f"assert number != {number(70)}, 'no more'").calls("order_pair", with_seeds(range(100)), ())
    assert [next(answers)[0][2] for _ in range(70)] == list(map(number, range(70)))
    with pytest.raises(Stopped, match="AssertionError: no more"):
        next(answers)


@pytest.mark.parametrize("host_of", ["fenced"], indirect=True)
def test_one_that_ends_the_worker_leaves_the_others_theirs(host_of):
    host = host_of(f"if number == {number(5)}: os._exit(0)")
    answers = host.calls("order_pair", with_seeds(range(9)), ())
    assert [next(answers)[0][2] for _ in range(5)] == list(map(number, range(5)))
    with pytest.raises(Stopped, match="ended the whole process"):
        next(answers)
    (again,) = host.calls("order_pair", with_seeds([6]), ())
    assert again[0][2] == number(6)


@pytest.mark.skipif("not hasattr(__import__('os'), 'fork')", reason="how much a worker takes is not known there")
@pytest.mark.parametrize("host_of", ["fenced"], indirect=True)
def test_one_that_does_not_end_is_named_and_the_others_before_it_answered(host_of):
    host = host_of(f"while number == {number(2)}: pass", call=0.5)
    answers = host.calls("order_pair", with_seeds(range(9)), ())
    assert [next(answers)[0][2] for _ in range(2)] == [number(0), number(1)]
    with pytest.raises(OutOfTime, match=r"order_pair took more than 0\.5 seconds"):
        next(answers)


@pytest.mark.parametrize("host_of", ["fenced"], indirect=True)
def test_together_they_may_take_longer_than_one_of_them_may(host_of):
    does = "\n    ".join(["end = time.process_time() + 0.02", "while time.process_time() < end: pass"])
    host = host_of(does, place="born", call=0.5)
    answers = [*host.calls("order_pair", with_seeds([0]), ()), *host.calls("order_pair", with_seeds(range(60)), ())]
    assert len(answers) == 61
    assert len({born for (_, born, _), _ in answers}) == 1  # one worker made them all


@pytest.mark.parametrize("host_of", ["fenced"], indirect=True)
@pytest.mark.parametrize("junk", ["several", [], [(1, 2, 3)] * 100, None])
def test_where_the_answer_is_none_each_is_asked_alone(host_of, junk, monkeypatch):
    host = host_of("")
    in_turn = host.in_turn

    def with_junk(steps, goes_on=True):
        several = [step for step in steps if step.args[-1].kind != "rng"]
        return iter([(junk, [])]) if several else in_turn(steps, goes_on)

    monkeypatch.setattr(host, "in_turn", with_junk)
    answers = list(host.calls("order_pair", with_seeds(range(4)), ()))
    assert [drawn for (_, _, drawn), _ in answers] == list(map(number, range(4)))


def test_calls_that_differ_elsewhere_are_no_such_calls():
    one, other = Given.of("rng", 1), Given.of("rng", 2)
    x, nested = np.ones(3), [Opaque(1)]
    assert drawn([((x, one), {}), ((x, other), {})], ()).seeds == (1, 2)
    for many, opaque in (
        ([((x, one), {})], ()),
        ([((x, one), {}), ((x.copy(), other), {})], ()),
        ([((x, one), {}), ((x, other, 1), {})], ()),
        ([((x, one), {}), ((x, other), {"rate": 1})], ()),
        ([((x, one), {}), ((x, Given.of("one rng", 2)), {})], ()),
        ([((x, one), {}), ((x, x), {})], ()),
        ([((x, one, one), {}), ((x, other, other), {})], ()),
        ([((x, one, Opaque(1)), {}), ((x, other, Opaque(1)), {})], ()),
        ([((x, one), {}), ((x, other), {})], (1,)),
        ([((x,), {}), ((x,), {})], ()),
        ([((nested, one), {}), ((nested, other), {})], ()),
        ([((x, Given.of("rng", 1, 2)), {}), ((x, Given.of("rng", 1, 3)), {})], ()),
        ([], ()),
    ):
        assert drawn(many, opaque) is None
