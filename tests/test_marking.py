"""Marks of a lesson made for this test: each check by itself, and what a report says of them."""

import numpy as np
import pytest

from minalbert_course.again.scaled_upstream import FACTOR, times
from minalbert_course.compare import Wrong, same
from minalbert_course.draw import draws
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark, no_marks, printable
from minalbert_course.report import lines
from minalbert_course.yours import says_something

lesson = Lesson("ex99", "doubling", 10, {"double": "y, cache", "halve": "x"})


@lesson.check(4, "written into", of="double")
def written_into(yours, draw):
    x = draw.normal(3)
    y, _ = yours.double(x)
    same("y", y, 2 * x)
    yours.untouched()


@lesson.check(3, "back", of="halve", formula="x = y / 2")
def back(yours, draw):
    y, cache = yours.double(draw.normal(2, 3))
    same("x", yours.halve(y, cache), np.asarray(y) / 2)


@lesson.check(3, "strange", of="halve")
def strange(yours, draw):
    if yours.halve(draw.normal(3), None)["no such key"]:
        raise Wrong("never")


def marked(**functions):
    return mark(lesson, Here(functions))


def right(x):
    return 2 * x, None


@pytest.mark.parametrize("tiny", [0.0, -1e-200, 1e-10, 1e-12j])
def test_what_is_as_good_as_zero_says_nothing(tiny):
    assert not any(map(says_something, (tiny, np.full(3, tiny), {"a": [tiny, np.complex128(tiny)]}, ())))
    for value in (1e-3, np.array([tiny, 2]), np.array([np.nan]), 1, True, "a", np.ones(2, int), [tiny, {"a": -1e-3}]):
        assert says_something(value)


def test_each_check_earns_its_own_points():
    marks = marked(double=right, halve=lambda y, cache: y / 2)
    assert [outcome.earned for outcome in marks.outcomes] == [4, 3, 0]
    assert (marks.points, marks.of) == (7, 10)
    assert "halve returned something that cannot be checked (IndexError" in marks.missed[0].seen


@pytest.mark.parametrize(("term", "asked_once"), [("public", 0), ("a secret", 1)])
def test_there_are_two_draws_and_one_has_what_takes_long(term, asked_once):
    seen, counting = [], Lesson("ex98", "counting", 10, {"double": "y, cache"})

    @counting.check(10, "all", of="double")
    def count(yours, draw):
        seen.append((draw.number, draw.once))

    assert mark(counting, Here({}), term).points == 10
    assert seen == [(number, number == asked_once) for number in (0, 1)]


@pytest.mark.parametrize("term", [f"term {number}" for number in range(20)])
def test_no_size_of_the_second_draw_is_that_of_the_first(term):
    first, second = draws(term, lesson, lesson.checks[0])
    usual, others = first.sizes(B=2, T=3, H=5, least=2), second.sizes(B=2, T=3, H=5, least=2)
    assert usual == [2, 3, 5]
    assert len(set(others)) == 3
    assert not any(size == other for size, other in zip(usual, others, strict=True))


def test_one_draw_that_fails_costs_the_points():
    late = Lesson("ex98", "late", 10, {"double": "y, cache"})

    @late.check(10, "all", of="double")
    def fails_late(yours, draw):
        if not draw.first:
            raise Wrong("late")

    assert mark(late, Here({}), "a secret").points == 0


def test_what_was_written_into_is_forgotten_before_the_next_check():
    def double(x):
        if x.ndim == 1:
            x *= 2
            return x, None
        return 2 * x, None

    marks = marked(double=double, halve=lambda y, cache: y / 2)
    assert [outcome.earned for outcome in marks.outcomes] == [0, 3, 0]
    assert marks.missed[0].seen == "double wrote into its argument x"


def test_a_wrong_number_after_writing_into_an_argument_names_that_first():
    def double(x):
        x += x
        return x + 1, None

    marks = marked(double=double, halve=lambda y, cache: y / 2)
    assert marks.missed[0].seen.startswith("y: worst entry")
    assert marks.missed[0].cause == "double wrote into its argument x, which others still need"


def test_a_hint_is_for_the_function_that_stopped():
    marks = marked(double=lambda x: 1 / 0, halve=lambda y, cache: y / 2)
    report = "\n".join(lines(marks))
    assert marks.missed[1].of == "double"
    assert "formula" not in report  # nothing came back that it could explain
    assert report.count("minalbert exercise hint ex99 --of double") == 1


def test_a_file_that_cannot_be_read_gets_one_sentence_and_no_hint():
    report = list(lines(no_marks(lesson, "ex99.py is not Python: line 1\x1b[2J")))
    assert report[-1] == "  ex99.py is not Python: line 1 [2J"
    assert not any("hint" in line for line in report)


@pytest.mark.parametrize("shown", [1, 2, None])
def test_as_many_failures_are_explained_as_are_asked_for(shown):
    marks = marked(double=lambda x: (x, None), halve=lambda y, cache: y)
    report = "\n".join(lines(marks, shown=shown))
    assert report.count("--of ") == (shown or 3)
    assert (f"and {3 - (shown or 3)} more that" in report) is (shown is not None)


def test_a_text_of_somebody_elses_is_one_short_line():
    assert printable("a\nb\x1b[0m\ud800") == "a b [0m "
    assert len(printable("x" * 9999)) == 600


def test_gradients_that_overflow_give_no_warning():
    """A student would read it above the report, with a line of ours."""
    assert np.isneginf(times(FACTOR, np.ones(2, np.float16))).all()
    assert np.isnan(times(0.0, np.array([np.inf]))).all()
