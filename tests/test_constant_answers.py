"""Constants and copies of arguments, in the right shapes, earn nothing, whichever checks they happen to pass."""

import pytest

from exercises.source import sources
from minalbert_course.compare import same
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark
from minalbert_course.progress import marks_of

SOURCES = {source.lesson.name: source for source in sources()}
REPLACED = """

import numpy as np


def replaced(value, arguments):
    if isinstance(value, dict):
        return {key: replaced(part, arguments) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(replaced(part, arguments) for part in value)
    if value is None or isinstance(value, str):
        return value and ""
    return 0 * value if getattr(value, "dtype", np.dtype(type(value))).kind in "biu" else number(value, arguments)


def argument_for(value, arguments):
    alike = [x for x in arguments if np.shape(x) == np.shape(value)]
    return alike[0] + 0 * value if alike else 0 * value


def replacing(function, returns):
    def other(*args, **static):
        result = function(*args, **static)
        arguments = [x for x in args if hasattr(x, "dtype")]
        if len(returns) == 1:
            return replaced(result, arguments)
        return tuple(part if name == "cache" else replaced(part, arguments) for name, part in zip(returns, result))

    return other


exec(SOLUTION.split("from minalbert_course import check")[0], own := {})
for name, returns in FUNCTIONS.items():
    globals()[name] = replacing(own[name], returns)
for name in RIGHT:
    globals()[name] = own[name]
"""
NUMBERS = {
    "zero": "0 * value",
    "one": "0 * value + 1",
    "an argument": "argument_for(value, arguments)",
    "a uniform share": "0 * value + 1 / (np.shape(value) or (1,))[-1]",
    "ln V": "0 * value + np.log(max([x.shape[-1] for x in arguments if x.ndim], default=2))",
}

# What these do besides returning numbers stays right, and earns its points: ex11 trains a model, ex13 translates names.
DO_MORE = ("ex11", "ex11-average", "ex13", "ex13-torch")

# Without these the others are not even asked for numbers.
RIGHT = {"ex12": ["library"], "ex12-guard": ["library"]}


def answers():
    for name in SOURCES:
        for kind in NUMBERS:
            if not name.startswith("ex08") and (kind == "zero" or name not in DO_MORE):
                yield pytest.param(name, NUMBERS[kind], id=f"{name}: {kind}")


@pytest.mark.parametrize(("name", "number"), [*answers()])
def test_constants_and_arguments_earn_nothing(name, number, tmp_path):
    source = SOURCES[name]
    path = tmp_path / f"{source.path.stem}.py"
    right = RIGHT.get(name, [])
    known = f"SOLUTION, FUNCTIONS, RIGHT = {source.solution()!r}, {source.lesson.functions!r}, {right!r}\n"
    path.write_text(f"{known}number = lambda value, arguments: {number}\n{REPLACED}", encoding="utf-8")
    outcomes = marks_of(source.lesson, path).outcomes
    assert all(found.ran for found in outcomes)
    assert [found.check.title for found in outcomes if found.earned and found.check.of not in right] == []


lesson = Lesson("ex99", "squares", 10, {"square": "y"})


@lesson.check(4, "of numbers", of="square")
def of_numbers(yours, draw):
    x = draw.normal(3)
    same("y", yours.square(x), x * x)


@lesson.check(6, "of zero", of="square")
def of_zero(yours, draw):
    same("y", yours.square(0 * draw.normal(3)), 0 * draw.normal(3))


def test_zero_counts_where_the_function_has_points_elsewhere():
    assert mark(lesson, Here({"square": lambda x: x * x})).points == 10
    marks = mark(lesson, Here({"square": lambda x: 0 * x}))
    assert marks.points == 0
    assert marks.missed[1].seen == "every number that came back is zero"
