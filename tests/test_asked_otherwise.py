"""The calls of a check once more: dicts in another order, arrays of float32, and one call twice."""

import numpy as np
import pytest

from minalbert_course.again.dict_orders import with_dicts_in_another_order
from minalbert_course.again.interleaving import interleave
from minalbert_course.again.single_precision import in_single_precision
from minalbert_course.compare import Wrong
from minalbert_course.here import Here
from minalbert_course.lesson import Lesson
from minalbert_course.yours import Yours

LESSON = Lesson("ex98", "asked otherwise", 10, {"f": "y"}, own_results=("f",))
MAY_LEND = Lesson("ex97", "results may be parts of others", 10, {"f": "y"})


def calls_of(f, *given):
    """host, the calls of one draw"""
    yours = Yours(LESSON, Here({"f": f}))
    for one in given:
        yours.f(one)
    return yours.host, yours.made


def total(weights):
    return sum(weights.values())


def first(weights):
    return next(iter(weights.values()))


def names(weights):
    return list(weights)


def as_in_the_first(layers):
    """The sum of what stands in each dict where "a" stands in the first"""
    place = list(layers[0]).index("a")
    return sum(list(weights.values())[place] for weights in layers)


def of_32_bits(x):
    return np.asarray(x, np.float32 if x.dtype.kind == "f" else np.int32)


def in_place(x):
    x = of_32_bits(x)
    x += 1
    return x.copy()


def returned(x):
    return of_32_bits(x)


KEPT = {}


def kept(x):
    return KEPT.setdefault(x.tobytes(), x.copy())


def overwritten(x):
    room = KEPT.setdefault(x.shape, np.empty(x.shape))
    room[...] = x
    return room


def test_dicts_come_in_another_order():
    host, calls = calls_of(first, {"a": np.ones(2), "b": np.zeros(2)})
    with pytest.raises(Wrong, match="y of f is another where the entries of a dict come in another order"):
        with_dicts_in_another_order(LESSON, host, [calls], {"f"})
    with_dicts_in_another_order(LESSON, host, [calls], set())


def test_one_of_two_dicts_comes_in_another_order():
    host, calls = calls_of(as_in_the_first, [{"a": np.ones(2), "b": np.zeros(2)}, {"a": np.ones(2), "b": np.zeros(2)}])
    with pytest.raises(Wrong, match="y of f is another where the entries of a dict come in another order"):
        with_dicts_in_another_order(LESSON, host, [calls], {"f"})


@pytest.mark.parametrize("f", [total, names])
def test_a_right_answer_has_any_order(f):
    asked = []

    def counted(weights):
        asked.append(list(weights))
        return f(weights)

    host, calls = calls_of(counted, {"a": np.ones(2), "b": np.zeros(2)})
    with_dicts_in_another_order(LESSON, host, [calls], {"f"})
    assert asked == [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize(("f", "does"), [(in_place, "wrote into"), (returned, "returned memory of")])
@pytest.mark.parametrize("kind", [float, int])
def test_32_bits_are_left_alone(kind, f, does):
    host, calls = calls_of(f, np.ones(3, kind))
    with pytest.raises(Wrong, match=f"given arrays of 32 bits, f {does} its argument x"):
        in_single_precision(LESSON, host, calls)


@pytest.mark.parametrize(
    ("lesson", "f", "does"),
    [
        (LESSON, kept, "returned memory of"),
        (LESSON, overwritten, "returned memory of"),
        (MAY_LEND, overwritten, "wrote into"),
    ],
)
def test_what_was_returned_is_neither_returned_nor_written_into(lesson, f, does):
    KEPT.clear()
    host, calls = calls_of(f, np.arange(3.0), np.arange(4.0))
    with pytest.raises(Wrong, match=f"f {does} what it had returned before"):
        interleave(lesson, host, [calls[:1], calls[1:]])
