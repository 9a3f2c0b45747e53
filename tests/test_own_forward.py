"""Backward beside the student's own forward: points where that alone is wrong, and none where nothing is right."""

import numpy as np
import pytest
from exercise_files import solution

from minalbert_course.catalogue import find
from minalbert_course.compare import same
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark
from minalbert_course.report import lines

lesson = Lesson("ex99", "squares", 10, {"square_forward": "y, cache", "square_backward": "dx, dweights"})
EPS = "eps is not added"


def forward(x, weights, eps):
    w = weights["w"]
    return (x * x + eps) * w, (x, w, eps)


def backward(dy, cache):
    x, w, eps = cache
    return 2 * dy * x * w, {"w": (dy * (x * x + eps)).sum(axis=0)}


def point(draw):
    x = draw.normal(*draw.sizes(B=3, K=4, least=2))
    return x, {"w": draw.gain(x.shape[1])}, 0.3, draw.normal(*x.shape)


@lesson.check(3, "y", of="square_forward")
def value(yours, draw):
    *given, _ = point(draw)
    same("y", yours.square_forward(*given)[0], forward(*given)[0], suspects={EPS: forward(*given[:2], 0.0)[0]})


def gradients(yours, draw):
    *given, dy = point(draw)
    return yours.square_backward(dy, yours.square_forward(*given)[1]), given, dy


@lesson.check(3, "dx", of="square_backward")
def dx(yours, draw):
    (dx, _), given, dy = gradients(yours, draw)
    thrice = {EPS: 3 * backward(dy, forward(*given)[1])[0]}
    same("dx", dx, backward(dy, forward(*given)[1])[0], follows=thrice)


@lesson.check(4, "dw", of="square_backward")
def dweights(yours, draw):
    (_, dweights), given, dy = gradients(yours, draw)
    same("dw", dweights["w"], backward(dy, forward(*given)[1])[1]["w"])


def marked(forward, backward=backward):
    return mark(lesson, Here({"square_forward": forward, "square_backward": backward}))


def without_eps(x, weights, eps):
    return forward(x, weights, 0.0)


def test_a_derivative_of_a_nearly_right_forward_earns_its_points_and_says_so():
    marks = marked(lambda x, weights, eps: forward(x, weights, 1.1 * eps))
    assert [outcome.earned for outcome in marks.outcomes] == [0, 3, 4]
    assert "dw: judged against your own square_forward, which is not right yet" in "\n".join(lines(marks))


def test_each_gradient_is_judged_alone():
    def half(dy, cache):
        dx, dweights = backward(dy, cache)
        return dx / 2, dweights

    marks = marked(lambda x, weights, eps: forward(x, weights, 1.1 * eps), half)
    assert [outcome.earned for outcome in marks.outcomes] == [0, 0, 4]


def test_a_lesson_may_tell_what_follows_from_a_known_mistake():
    def thrice(dy, cache):
        dx, dweights = backward(dy, cache)
        return 3 * dx, dweights

    def slightly(x, weights, eps):
        return forward(x, weights, 0.9 * eps)

    assert [outcome.earned for outcome in marked(slightly, thrice).outcomes] == [0, 0, 4]  # another mistake
    assert marked(without_eps).outcomes[0].cause == EPS
    assert [outcome.earned for outcome in marked(without_eps, thrice).outcomes][1] == 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, weights, eps: (0 * x, None),
        lambda x, weights, eps: (1 + 0 * x, None),
        lambda x, weights, eps: (x, None),
        lambda x, weights, eps: (x * x, None),
        lambda x, weights, eps: (np.full_like(x, np.nan), None),
    ],
    ids=["zero", "constant", "identity", "without the weights", "nan"],
)
@pytest.mark.parametrize("kind", ["derivative", "zeros"])
def test_a_forward_of_another_kind_earns_nothing_by_its_derivative(wrong, kind):
    def own_forward(x, weights, eps):
        return wrong(x, weights, eps)[0], (x, weights["w"])

    def own_backward(dy, cache):
        x, w = cache
        slope = (wrong(x + 1e-6, {"w": w}, 0.3)[0] - wrong(x - 1e-6, {"w": w}, 0.3)[0]) / 2e-6
        return (dy * slope, {"w": 0 * w}) if kind == "derivative" else (0 * x, {"w": 0 * w})

    assert marked(own_forward, own_backward).points == 0


def test_a_law_that_breaks_after_a_wrong_forward_names_it_as_a_reason():
    text = solution("ex03").replace("(centred * centred).mean(", "x.shape[-1] / (x.shape[-1] - 1) * (centred**2).mean(")
    exec(text.split("from minalbert_course import check")[0], namespace := {})
    laws = next(found for found in mark(find("ex03"), Here(namespace)).outcomes if found.check.title == "two laws")
    assert "is missing, or the reason is layer_norm_forward, which is not right yet" in laws.cause
