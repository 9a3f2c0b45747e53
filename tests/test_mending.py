"""A wrong answer whose cause nobody knows: the single change of the student's own code that makes a check right."""

import ast

import numpy as np
import pytest

from minalbert_course import files
from minalbert_course.causes.changed_code import ROUNDS, TICK, Rounds, TooLong, compiled, loops_of
from minalbert_course.compare import Wrong, equal, same
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark, mark_and_explain

RIGHT = """import numpy as np

def scaled(x, gain):
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + 0.3)
    y = 1.7 * x / size - gain
    return y

def halved(numbers):
    found = []
    while numbers:
        found.append(half_of(numbers[0]))
        numbers = numbers[1:]
    return found

def half_of(number):
    return number // 2
"""
lesson = Lesson("ex99", "scaling", 10, {"scaled": "y", "halved": "found"})


@lesson.check(6, "y", of="scaled")
def value(yours, draw):
    x, gain = draw.normal(3, 4), draw.gain(4)
    try:
        same("y", yours.scaled(x, gain), 1.7 * x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.3) - gain)
    except Wrong as error:
        raise Wrong(error.seen, numbers=error.numbers) from None


@lesson.check(4, "found", of="halved")
def halves(yours, draw):
    numbers = draw.integers(3, 90, 6).tolist()
    equal("found", yours.halved(numbers), [number // 2 for number in numbers])


def outcomes(text, folder, how=mark_and_explain, lesson=lesson):
    path = folder / "ex99_scaling.py"
    path.write_text(text, encoding="utf-8")
    namespace, remark = files.run(path)
    return how(lesson, Here(namespace, path), remark=remark).outcomes


small = Lesson("ex98", "doubling", 10, {"doubled": "y"})


@small.check(6, "y", of="doubled")
def doubles(yours, draw):
    x = draw.normal(3, 4)
    same("y", yours.doubled(x), 2 * x)


@small.check(4, "dtype", of="doubled")
def dtype(yours, draw):
    x = draw.normal(3).astype(np.float32)
    if yours.doubled(x).dtype != x.dtype:
        raise Wrong("y is not of x's dtype")


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("    y =", "    x = np.tanh(x)\n    y =", "line 5: all numbers of this check are right without `x = np.t"),
        ("1.7 * x", "1.7 * np.tanh(x)", "line 5: all numbers of this check are right without `np.tanh`"),
        ("- gain", "+ gain", "line 5: all numbers of this check are right with another operator than + in"),
        ("1.7", "1.6", "line 5: all numbers of this check are right with another number than `1.6`"),
        ("0.3", "0.25", "line 4: all numbers of this check are right with another number than `0.25`"),
        (" - gain", " - size", "line 5: all numbers of this check are right with another name than `size`"),
        ("axis=-1", "axis=0", "line 4: all numbers of this check are right with other arguments of `(x"),
        ("np.sqrt((x * x).mean(axis=-1, keepdims=True) + 0.3)",
         "np.sqrt(np.maximum((x * x).mean(axis=-1, keepdims=True), 0.3))",
         "line 4: all numbers of this check are right with another function than `maximum`"),
        ("mean(", "max(", "line 4: all numbers of this check are right with another function than `max`"),
        ("number // 2", "number // 2 - 1", "half_of, line 16: all numbers of this check are right without - `1`"),
        ("numbers[1:]", "numbers[2:]", "line 12: all numbers of this check are right with another slice than `2:`"),
    ],
)  # fmt: skip
def test_one_change_is_found_and_its_place_is_said(right, wrong, says, tmp_path):
    (missed,) = [found for found in outcomes(RIGHT.replace(right, wrong), tmp_path) if found.seen]
    assert says in missed.cause
    assert all(found.cause is None for found in outcomes(RIGHT.replace(right, wrong), tmp_path, mark))


def test_nothing_is_said_of_two_mistakes(tmp_path):
    (missed,) = [found for found in outcomes(RIGHT.replace("1.7", "1.6").replace("0.3", "0.2"), tmp_path) if found.seen]
    assert missed.cause is None


def test_nothing_is_said_that_makes_another_check_wrong(tmp_path):
    text = "import numpy as np\n\ndef doubled(x):\n    return x * np.array([2.0])\n"
    (missed,) = [found for found in outcomes(text, tmp_path, lesson=small) if found.seen]
    assert missed.cause is None  # without * the dtype is right, and the numbers are not


def test_a_change_that_returns_an_argument_does_not_spoil_the_others(tmp_path):
    """Without `+ gain` the result is x itself, and that is looked at in the check of untouched arguments."""
    own = Lesson("ex97", "a gain", 10, {"scaled": "y"}, own_results=("scaled",))

    @own.check(6, "y", of="scaled")
    def value(yours, draw):
        x, gain = draw.normal(3, 4), draw.gain(4)
        same("y", yours.scaled(x, gain), x * gain)

    @own.check(4, "inputs untouched", of="scaled")
    def untouched(yours, draw):
        yours.scaled(draw.normal(3, 4), draw.gain(4))
        yours.untouched()

    missed, _ = outcomes("def scaled(x, gain):\n    return x + gain\n", tmp_path, lesson=own)
    assert "with another operator than + in `x + gain`" in missed.cause


@pytest.mark.slow
def test_changes_that_never_end_and_grow_are_given_up_and_nothing_is_printed(tmp_path, capsys):
    text = RIGHT.replace("number // 2", "3 + number % 7").replace("found = []", "found = []; print(numbers)")
    (before,) = [found for found in outcomes(text, tmp_path, mark) if found.seen]
    printed = capsys.readouterr().out
    (missed,) = [found for found in outcomes(text, tmp_path) if found.seen]
    assert missed == before
    assert capsys.readouterr().out == printed


@pytest.mark.slow
def test_whole_numbers_that_grow_without_end_do_not_outlast_the_search(tmp_path):
    """With `numbers` for `found` in `found.append`, numbers are squared again and again, and each takes longer."""
    text = RIGHT.replace("number // 2", "3 * number * number if number < 41 else -number")
    (missed,) = [found for found in outcomes(text, tmp_path) if found.seen]
    assert missed.cause is None


def test_loops_count_rounds_and_what_grows(tmp_path):
    tree = ast.parse("def grow(found):\n    while True:\n        found = found + found").body[0]
    names = {TICK: Rounds()}
    exec(compiled(tree, loops_of(tree), ""), names)
    with pytest.raises(TooLong):
        names["grow"]([1])
    assert names[TICK].left > ROUNDS - 30
    with pytest.raises(TooLong):
        names["grow"]([])


def test_no_loop_outlasts_the_search():
    rounds = Rounds()
    rounds()
    rounds.end = 0.0
    with pytest.raises(TooLong):
        rounds()


def test_a_change_that_python_warns_of_warns_nobody(recwarn):
    tree = ast.parse("def three(x):\n    return x is 3").body[0]
    recwarn.clear()  # the parser's own
    compiled(tree, [], "three.py")
    assert not recwarn.list
