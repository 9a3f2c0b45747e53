"""Causes found by the library's own function: what was done to which argument, in the student's numbers alone."""

import numpy as np
import pytest

from minalbert.layers import softmax, softmax_forward
from minalbert_course.compare import same
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark


def affine_forward(x, w, b, scale):
    return scale * (x @ w) + b, (x, w, scale)


def affine_backward(dy, cache):
    x, w, scale = cache
    return scale * dy @ w.T, scale * x.T @ dy, dy.sum(axis=0)


lesson = Lesson("ex99", "affine", 10, {"affine_forward": "y, cache", "affine_backward": "dx, dw, db"},
                references={"affine_forward": affine_forward, "affine_backward": affine_backward})  # fmt: skip


def point(draw):
    x, w = draw.normal(3, 4), draw.normal(4, 5)
    return x, w, draw.normal(5), 0.3


@lesson.check(5, "y", of="affine_forward")
def value(yours, draw):
    given = point(draw)
    same("y", yours.affine_forward(*given)[0], affine_forward(*given)[0])


@lesson.check(5, "dw", of="affine_backward")
def gradient(yours, draw):
    given, dy = point(draw), draw.normal(3, 5)
    _, dw, _ = yours.affine_backward(dy, yours.affine_forward(*given)[1])
    same("dw", dw, affine_backward(dy, affine_forward(*given)[1])[1])


def causes(forward=affine_forward, backward=affine_backward):
    marks = mark(lesson, Here({"affine_forward": forward, "affine_backward": backward}))
    return {outcome.check.title: outcome.cause for outcome in marks.missed}


kept = []


def first_x(x, w, b, scale):
    kept.append(x)
    return affine_forward(kept[0], w, b, scale)


def first_result(x, w, b, scale):
    kept.append(affine_forward(x, w, b, scale))
    return kept[0]


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (lambda x, w, b, scale: affine_forward(abs(x), w, b, scale), "the absolute value of x is used"),
        (lambda x, w, b, scale: affine_forward(x, w, 0 * b, scale), "b is not added"),
        (lambda x, w, b, scale: affine_forward(x, w, -b, scale), "b is subtracted, where it must be added"),
        (lambda x, w, b, scale: affine_forward(x, w, b, 1.0), "scale is used as if it were 1"),
        (lambda x, w, b, scale: affine_forward(x, w, b, scale * scale), "scale is squared"),
        (lambda x, w, b, scale: affine_forward(x, w, b[::-1], scale), "b is in reverse order along axis 0"),
        (
            lambda x, w, b, scale: affine_forward(x * 4**-0.25, w, b, scale),
            "the same numbers come out where x is 1/√√4 times as large",
        ),
        (lambda x, w, b, scale: (x, affine_forward(x, w, b, scale)[1]), "this is what affine_forward was given"),
        (first_x, "x is that of an earlier call: something is kept from call to call"),
        (first_result, "this is what an earlier call of affine_forward returned: something is kept"),
    ],
)
def test_what_was_done_to_which_argument(forward, says):
    kept.clear()
    assert says in causes(forward)["y"]


@pytest.mark.parametrize(
    ("backward", "says"),
    [
        (
            lambda dy, cache: affine_backward(abs(dy), cache),
            "the absolute value of the gradient given to backward is used",
        ),
        (lambda dy, cache: affine_backward(dy, (cache[0] ** 2, *cache[1:])), "x is squared"),
        (lambda dy, cache: affine_backward(dy, (*cache[:2], cache[2] ** 2)), "a constant factor: yours is 0.3 times"),
    ],
)
def test_what_was_done_on_the_way_back(backward, says):
    assert says in causes(backward=backward)["dw"]


def test_nothing_is_said_where_no_variation_gives_the_numbers():
    noise = np.random.default_rng(0).standard_normal((3, 5))
    assert causes(lambda x, w, b, scale: (noise.copy(), (x, w, scale)))["y"] is None


def test_another_answer_to_the_same_call_is_told():
    noise = np.random.default_rng(0)
    said = causes(lambda x, w, b, scale: (noise.standard_normal((3, 5)), (x, w, scale)))["y"]
    assert said.startswith("the same call gives another answer the second time")


def test_the_library_is_asked_where_it_has_the_function():
    exercise = Lesson("ex99", "softmax", 10, {"softmax_forward": "y, cache"}, (softmax_forward,))

    @exercise.check(10, "softmax", of="softmax_forward")
    def value(yours, draw):
        x = draw.normal(3, 4)
        same("y", yours.softmax_forward(x)[0], softmax(x))

    assert exercise.references["softmax_forward"]
    marks = mark(exercise, Here({"softmax_forward": lambda x: (softmax(x * np.log(2)), None)}))
    assert "ln 2 times as large" in marks.outcomes[0].cause
