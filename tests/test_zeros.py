"""An answer whose every number is zero earns nothing, whichever checks zero happens to pass."""

import pytest

from exercises.source import sources
from minalbert_course.compare import same
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark
from minalbert_course.progress import marks_of

SOURCES = {source.lesson.name: source for source in sources()}
ZEROED = """

def zeroed(value):
    if isinstance(value, dict):
        return {key: zeroed(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(zeroed(part) for part in value)
    return value if value is None else 0 * value  # of a text: nothing


def zeroing(function, returns):
    def other(*args, **static):
        result = function(*args, **static)
        if len(returns) == 1:
            return zeroed(result)
        return tuple(part if name == "cache" else zeroed(part) for name, part in zip(returns, result))

    return other


for name, returns in FUNCTIONS.items():
    globals()[name] = zeroing(globals()[name], returns)
"""


@pytest.mark.parametrize("name", [name for name in SOURCES if not name.startswith("ex08")])
def test_zeros_earn_nothing(name, tmp_path):
    source = SOURCES[name]
    path = tmp_path / f"{source.path.stem}.py"
    functions = f"\n\nFUNCTIONS = {source.lesson.functions!r}\n"
    path.write_text(source.solution() + functions + ZEROED, encoding="utf-8")
    assert marks_of(source.lesson, path).points == 0


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
