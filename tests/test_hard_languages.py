"""Exercise 11's run with a target: one language in twelve is hard, and costs no points for good settings."""

import itertools

import pytest

from minalbert_course.compare import Wrong
from minalbert_course.draw import CheckDraw
from minalbert_course.lessons.ex11.measured_average import averaged_mlm
from minalbert_course.lessons.ex11.recipes import MORE, compare_losses


def asked(losses):
    """The languages that were trained on, and what is wrong, if these are the losses."""
    languages, losses = [], iter(losses)

    def held_out(language):
        languages.append(language)
        return next(losses)

    try:
        compare_losses(CheckDraw(0, "a term"), "they have", (), held_out, lambda *_: "bad luck")
    except Wrong as error:
        return len(set(languages)), str(error)
    return len(set(languages)), None


def test_one_language_is_enough_where_its_loss_is_clearly_low():
    assert asked([1.3]) == (1, None)
    assert asked([1.31, 1.6]) == (2, None)


def test_other_languages_are_tried_where_a_mean_is_near_the_target():
    assert asked([1.7, 1.3]) == (2, None)
    assert asked([1.69, 1.67, 1.2, 1.3, 1.7, 1.7, 1.2, 1.3]) == (8, None)


def test_settings_that_never_reach_the_target_are_wrong():
    languages, says = asked(itertools.chain([1.69, 1.67], itertools.repeat(1.6)))
    assert languages == 2 + 2 * MORE
    assert "1.69 and 1.67" in says
    assert asked([1.69, 1.67, 1.2, 1.3, 1.7, 1.7, 1.5, 1.6])[1]  # one of three pairs is luck
    assert asked(itertools.repeat(3.1))[0] == 2
    assert asked(itertools.repeat(float("nan")))[0] == 2


@pytest.mark.slow
def test_the_solution_reaches_it_where_the_first_two_languages_are_hard():
    draw = CheckDraw(2, "stranger f 166", "ex11-average", "a run with a target")
    plan, found = (120, 24, 24, 0.01, 0.9), []

    def held_out(language, *plan):
        found.append(averaged_mlm(language, *plan))
        return found[-1]

    compare_losses(draw, "", plan, held_out, None)
    assert sum(found[:2]) > 3
