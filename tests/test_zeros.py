"""Answers that are nothing but zeros, in the right shape, earn nothing."""

import exercise_files
import numpy as np
import pytest

from minalbert_course.catalogue import all_lessons
from minalbert_course.files import run
from minalbert_course.here import Here
from minalbert_course.marking import mark

LESSONS = list(all_lessons().values())
COMMON = {"inputs untouched", "rng alone, inputs untouched"}
EARN = {  # what zeros still earn, half a point each, until the check asks for numbers, too
    "ex02": {"none for whole numbers"},
    "ex05": {"padding"},
    "ex09": {"no target"},
    "ex12": {"GELU in float32", "layer norm in float32"},
    "ex13": {"names", "a bare trunk", "what cannot be read", "a directory"},  # names are right where numbers are zero
}


def zeros(value):
    if isinstance(value, np.ndarray | np.generic):
        return np.zeros_like(value)
    if hasattr(value, "_pretended"):
        return value * 0
    if type(value) in (tuple, list):
        return type(value)(map(zeros, value))
    if isinstance(value, dict):
        return {key: zeros(part) for key, part in value.items()}
    return type(value)(0) if type(value) in (int, float) else value if value is None else type(value)()


def only_zeros(function, opaque):
    """The function with zeros for what it returns; its cache stays, so that its partner can use it."""

    def call(*args, **static):
        result = function(*args, **static)
        if not opaque:
            return zeros(result)
        return tuple(part if i in opaque else zeros(part) for i, part in enumerate(result))

    return call


def zero_answers(lesson, tmp_path):
    path = tmp_path / exercise_files.file_name(lesson.name)
    path.write_text(exercise_files.solution(lesson.name), encoding="utf-8")
    namespace, _ = run(path)
    return {
        name: only_zeros(namespace[name], [i for i, part in enumerate(returns) if part.startswith("cache")])
        for name, returns in lesson.functions.items()
    }


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_zeros_of_the_right_shape_earn_nothing(lesson, tmp_path):
    marks = mark(lesson, Here(zero_answers(lesson, tmp_path)))
    assert {outcome.check.title for outcome in marks.outcomes if outcome.earned} <= COMMON | EARN.get(
        lesson.name, set()
    )
