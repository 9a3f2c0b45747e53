"""What the lessons name as a mistake: what gives the student's numbers, or what says that it is a guess."""

import numpy as np
import pytest

from minalbert_course.compare import Wrong
from minalbert_course.draw import CheckDraw
from minalbert_course.given import Given
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.lessons.checks import Later
from minalbert_course.lessons.corners import Corner, CornerDraw, also
from minalbert_course.lessons.ex04.points import compared
from minalbert_course.lessons.ex07.polynomials import miscounted, quotients
from minalbert_course.lessons.ex11.loop_mistakes import slips_of_a_loop
from minalbert_course.lessons.ex11.loops import same_or_own
from minalbert_course.lessons.matches import matches
from minalbert_course.marking import mark

X, Y = np.random.default_rng(3).standard_normal((2, 3, 4)) + 0.2


def cause(yours, expected=X, **known):
    with pytest.raises(Wrong) as found:
        matches("y", yours, expected, "ij", **known)
    return found.value.cause


def test_a_suspect_is_named_where_it_gives_the_numbers():
    assert cause(X + 1, suspects=lambda: {"two are added": X + 2, "one is added": X + 1}) == "one is added"
    assert cause(X + 1.5, suspects=lambda: {"one is added": X + 1}) != "one is added"


def test_where_a_function_of_single_numbers_is_wrong_is_said():
    x = np.linspace(-6, 6, 97)
    for wrong, says in (
        (np.where(x > 3, 7 * x, x), "seen: wrong where x is 3.125 to 6, and right elsewhere"),
        (np.where(x == 0, 2.0, x), "seen: wrong where x is 0, and right elsewhere"),
        (np.where(np.abs(x) > 4, np.cos(x), x), "seen: right where x is -4 to 4, and wrong beyond"),
        (np.where(np.cos(9 * x) > 0, np.cos(x), x), "seen: 47 of 97 entries are wrong"),
    ):
        with pytest.raises(Wrong) as found:
            compared("y", x, wrong, x, 1e-5)
        assert found.value.cause.startswith(says)


def test_no_suspect_is_made_where_the_losses_are_right_by_rates_of_ones_own():
    made = []
    suspects = Later(lambda: made.append(1) or {"two are added": [3.0, 4.0]})
    same_or_own("losses", [3.0, 4.0], [1.0, 2.0], lambda: [3.0, 4.0], suspects)
    assert not made
    with pytest.raises(Wrong) as found:
        same_or_own("losses", [3.0, 4.0], [1.0, 2.0], lambda: None, suspects)
    assert (found.value.cause, made) == ("two are added", [1])


def test_what_a_mistake_makes_of_a_run_is_computed_once_for_all_submissions():
    asked = (0,), (Given.of("a batch", 0, 2, 5, 1),), (0.1, 0.05), 0.1
    first, second = slips_of_a_loop(*asked), slips_of_a_loop(*asked)
    assert all(first[says]() is second[says]() for says in list(first)[:2])


def test_two_suspects_with_the_same_numbers_are_a_guess():
    found = cause(X + 1, suspects=lambda: {"one is added": X + 1, "ones are added": lambda: X + np.ones(4)})
    assert found == "perhaps: one is added; or: ones are added"


def test_terms_with_another_factor_are_named():
    terms = {"the square": X * X, "x": X}
    assert cause(2 * X * X + X, X * X + X, terms=lambda: terms) == "the square comes in 2 times"
    assert cause(X * X - X, X * X + X, terms=lambda: terms) == "x has the wrong sign"


def test_an_argument_that_was_changed_is_named():
    given = (lambda x, y: x * x + y, {"x": X, "y": Y})
    assert cause(np.sort(X) ** 2 + Y, X * X + Y, given=given) == (
        "this is right for x, sorted along the last axis, in the place of x"
    )
    assert cause(Y * Y + X, X * X + Y, given=given) == "x and y are exchanged"


def test_a_change_that_changes_nothing_is_no_cause():
    """All numbers are below 10, so cutting them there gives what is expected, and nearly what is given."""
    assert "cut off" not in (cause(X * (1 + 1e-7 * np.sign(X - 0.1)), limit=1e-9) or "")


def test_a_corner_has_its_sizes_and_its_kind_of_numbers():
    draw = CheckDraw(0, "here")
    assert CornerDraw(draw, Corner(B=1, T=3)).sizes(B=2, T=5, H=6) == [1, 3, 6]
    assert np.abs(CornerDraw(draw, Corner("tiny")).normal(50)).max() < 0.01
    assert not CornerDraw(draw, Corner("zero")).normal(5).any()
    assert np.abs(CornerDraw(draw, Corner("large")).normal(5)).max() > 10
    assert CornerDraw(draw, Corner(padding="all but one")).padding(2, 3).tolist() == [[1, 0, 0]] * 2
    assert str(Corner("tiny", padding="none", B=1)) == "B = 1; no padding; numbers of size 0.001"


def outcome(double, *corners):
    lesson = Lesson("ex99", "doubling", 10, {"double": "y"})

    @lesson.check(10, "y", of="double")
    @also(*corners)
    def value(yours, draw):
        x = draw.normal(*draw.sizes(B=2, T=3))
        matches("y", yours.double(x), 2 * x, suspects=lambda: {"three times": 3 * x})

    return mark(lesson, Here({"double": double})).outcomes[0]


def test_a_corner_names_a_mistake_that_gives_its_numbers():
    found = outcome(lambda x: 3 * x if len(x) == 4 else 2 * x, Corner(B=4, T=5))
    assert found.cause == "three times"
    assert found.seen.endswith("(B = 4, T = 5)")


@pytest.mark.parametrize(
    ("double", "corner", "says"),
    [
        (lambda x: 2 * x + (len(x) == 4) * np.arange(x.shape[1]) ** 2, Corner(B=4, T=5), "a size is written in"),
        (lambda x: 3 * x if len(x) == 1 else 2 * x, Corner(B=1, T=1), "an axis of 1 is dropped"),
        (lambda x: np.where(np.abs(x) < 0.002, 0, 2 * x), Corner("tiny", B=3, T=4), "not small beside 0.001"),
        (lambda x: 2 * np.clip(x, -9, 8), Corner("large", B=3, T=4), "numbers are cut off"),
    ],
)
def test_a_corner_guesses_where_nothing_gives_its_numbers(double, corner, says):
    found = outcome(double, corner)
    assert found.cause.startswith("perhaps: ")
    assert says in found.cause


def right(a, b):
    return a * b + 2 * a


SMALL = "small sizes are counted rightly: there is a case of its own for some, or numbers are rounded"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda a, b: a * b + a, "counted so often are a: 1 times, where 2 times is meant"),
        (lambda a, b: a * b + 2 * b, "a and b are exchanged"),
        (lambda a, b: a * a + 2 * a, "a is used where b is meant"),
        (lambda a, b: a * b + 2 * a + 1, "counted so often are 1: 1 times, where 0 times is meant"),
        (lambda a, b: right(a, b) + (a % 7) ** 3 % 5, None),
        (lambda a, b: right(a, b) + 3 * a / b, "something is divided by b, and nothing is in the right count"),
        (lambda a, b: right(a, b) + b**5, "it grows as b^5 does; the right count grows as b does"),
        (lambda a, b: right(a, b) + (a > 9), SMALL),
    ],
)
def test_a_wrong_count_says_which_terms_it_counts(wrong, says):
    assert miscounted(wrong, right, "ab", (3, 5)) == says


def test_quotients_are_those_that_they_say():
    ways = quotients(30, 4)
    assert ways["this is (V H -1) // (V + H)"] == 119 // 34
    assert ways["this is (V H) // (V + H) +1"] == 120 // 34 + 1
