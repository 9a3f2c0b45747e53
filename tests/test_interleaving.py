"""Calls in between: an answer that keeps something outside its cache loses the points of the checks that show it."""

import pytest

from exercises.source import sources
from minalbert_course.given import Given
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.marking import mark
from minalbert_course.progress import marks_of
from minalbert_course.values import OutOfTime

SOURCES = {source.lesson.name: source for source in sources()}
PAIRS = [(name, function.removesuffix("_forward")) for name, source in SOURCES.items()
         for function in source.lesson.functions
         if function.endswith("_forward") and source.lesson.opaque(function)]  # fmt: skip
WRAPPED = """
import numpy

_kept, _forward, _backward = {{}}, {pair}_forward, {pair}_backward

def {pair}_forward(*args, **static):
    y, cache = _forward(*args, **static)
    {keep}
    return y, None

def {pair}_backward(dy, cache):
    return _backward(dy, {take})
"""
KEPT = {
    "the last": ("_kept[0] = cache", "_kept[0]"),
    "the last of each shape": ("_kept[numpy.shape(y)] = cache", "_kept[numpy.shape(dy)]"),
}


def marked(lesson_name, text, tmp_path):
    path = tmp_path / f"{SOURCES[lesson_name].path.stem}.py"
    path.write_text(SOURCES[lesson_name].solution() + text, encoding="utf-8")
    return marks_of(SOURCES[lesson_name].lesson, path)


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize(("name", "pair"), PAIRS)
def test_a_cache_kept_outside_the_cache_is_caught_in_every_pair(name, pair, kind, tmp_path):
    keep, take = KEPT[kind]
    marks = marked(name, WRAPPED.format(pair=pair, keep=keep, take=take), tmp_path)
    lost = [outcome for outcome in marks.missed if "kept outside the cache" in (outcome.cause or "")]
    assert lost
    assert marks.points < 9


@pytest.mark.parametrize("name", ["ex02", "ex03", "ex04", "ex05"])
def test_an_array_that_each_call_returns_anew_is_caught(name, tmp_path):
    pair = next(pair for other, pair in PAIRS if other == name)
    buffered = f"""
_buffers, _forward = {{}}, {pair}_forward

def {pair}_forward(*args, **static):
    y, cache = _forward(*args, **static)
    buffer = _buffers.setdefault(y.shape, y)
    buffer[...] = y
    return buffer, cache
"""
    seen = [outcome.seen for outcome in marked(name, buffered, tmp_path).missed]
    assert f"{pair}_forward wrote into what it had returned before" in seen


@pytest.mark.parametrize(("name", "function"), [
    ("ex08", "find_words"), ("ex08", "choose_spans"), ("ex13", "translate"), ("ex13-torch", "read_config"),
    ("ex13", "fill_mask"),
])  # fmt: skip
def test_a_list_or_dict_that_is_kept_and_returned_itself_is_caught(name, function, tmp_path):
    remembering = f"""
_kept, _function = {{}}, {function}

def {function}(*args):
    return _kept.setdefault(repr(args), _function(*args))
"""
    missed = [outcome for outcome in marked(name, remembering, tmp_path).missed if outcome.of == function]
    assert missed[0].seen == f"{function} returned a list or dict that it had returned before"
    assert "return a new one" in missed[0].cause


lesson = Lesson("ex99", "doubling", 10, {"double_forward": "y, cache", "double_backward": "dx"})


@lesson.check(10, "all", of="double_backward")
def twice(yours, draw):
    x = draw.normal(3)
    _, cache = yours.double_forward(x)
    for _ in range(2):
        if (yours.double_backward(x, cache) != 2 * x).any():
            raise AssertionError


def test_backward_may_use_its_cache_up():
    def backward(dy, cache):
        factor, cache["factor"] = cache["factor"], None
        return factor * dy

    marks = mark(lesson, Here({"double_forward": lambda x: (2 * x, {"factor": 2.0}), "double_backward": backward}))
    assert marks.points == 10, marks.missed


def test_an_answer_that_stops_when_it_is_called_again_says_why():
    calls = []

    def forward(x):
        calls.append(x)
        if len(calls) > 4:
            raise RuntimeError("five calls are too many")
        return 2 * x, None

    (missed,) = mark(lesson, Here({"double_forward": forward, "double_backward": lambda dy, cache: 2 * dy})).missed
    assert missed.seen.startswith("called again after other calls, double_forward stopped: RuntimeError: five calls")
    assert missed.of == "double_forward"


def test_no_call_in_between_changes_which_functions_a_lesson_may_ask_for():
    assert all(not name.startswith("_") and name not in ("host", "made", "untouched", "wrote", "forget")
               for source in SOURCES.values() for name in source.lesson.functions)  # fmt: skip


@pytest.mark.parametrize("when", ["called again after other calls", "given arrays that lie in memory"])
def test_an_answer_that_takes_too_long_has_no_cause(when):
    def lies_otherwise(arg):
        return isinstance(arg, Given) and arg.kind == "array"

    class Slow(Here):
        calls = 0

        def call(self, name, args, *more):
            self.calls += 1
            if self.calls > 8 if when.startswith("called") else any(map(lies_otherwise, args)):
                raise OutOfTime(f"{name} took longer than 10 seconds: an endless loop?")
            return super().call(name, args, *more)

    slow = Slow({"double_forward": lambda x: (2 * x, None), "double_backward": lambda dy, cache: 2 * dy})
    (missed,) = mark(lesson, slow).missed
    assert missed.seen.startswith(when)
    assert missed.seen.endswith("took longer than 10 seconds: an endless loop?")
    assert missed.cause is None
