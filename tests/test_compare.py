"""What a check takes for right, whatever kind of number, array or container it comes in."""

from collections import Counter

import numpy as np
import pytest

from minalbert_course.compare import Wrong, equal, numbers, same, shown

X = np.arange(6.0).reshape(2, 3) + 1


def verdict(comparison, yours, expected):
    """The words that say what is wrong, or "right"."""
    try:
        comparison("it", yours, expected)
    except Wrong as wrong:
        return str(wrong)
    return "right"


@pytest.mark.parametrize(
    "yours",
    [X, X.tolist(), tuple(map(tuple, X)), X.astype(np.float32), np.asfortranarray(X), X.astype(int),
     X[::-1][::-1], X.astype(np.longdouble), X * (1 + 1e-6)],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_the_same_numbers_in_another_form(yours):
    assert verdict(same, yours, X) == "right"


@pytest.mark.parametrize(
    ("yours", "says"),
    [
        (None, "x is None; it must be an array of shape (2, 3)"),
        (X.T, "x has shape (3, 2); it must be (2, 3)"),
        (X + 1j, "x is complex"),
        ("text", "x is 'text'; it must be an array"),
        ([[1, 2], [3]], "it must be an array"),
        (X * (1 + 3e-5), "worst entry [1, 2]   yours 6.00018   expected 6   ratio 1"),
        (np.where(X == 4, np.nan, X), "worst entry [1, 0]   yours nan   expected 4"),
        (X + 10, "ratio 11"),
    ],
    ids=str,
)
def test_what_is_not_the_same_is_said(yours, says):
    with pytest.raises(Wrong) as wrong:
        same("x", yours, X)
    assert says in str(wrong.value)


def test_truth_values_are_numbers():
    b = np.array([True, False])
    assert verdict(same, b, b) == "right"
    assert verdict(same, b | True, b).startswith("it: worst entry [1]")


def test_a_number_and_its_worst_entry():
    assert verdict(same, np.float32(2.5), 2.5) == verdict(same, np.array(2.5), 2.5) == "right"
    with pytest.raises(Wrong, match=r"loss:   yours 3   expected 2\.5   ratio 1\.2"):
        same("loss", 3, 2.5)


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (np.int64(3), 3), (3.0, 3), (np.array(3), 3), (np.True_, True), (np.str_("cupy"), "cupy"), 
        (range(3), [0, 1, 2]),
        (Counter("aab"), {"a": 2, "b": 1}), ([np.int64(1), np.str_("a")], [1, "a"]), ((np.float64(2), "b"), (2.0, "b")),
        ([1, 2], np.array([1, 2])), (np.array([1.0, 2.0]), np.array([1, 2])), (None, None),
    ],
    ids=repr,
)  # fmt: skip
def test_equal_does_not_ask_for_the_type(yours, expected):
    assert verdict(equal, yours, expected) == "right"


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (4, 3),
        (True, 1),
        (1, True),
        ("3", 3),
        ([1], [1, 2]),
        (None, 0),
        ({"a": 1}, {"a": 2}),
        ((1,), [1]),
        (np.nan, 1.0),
    ],
    ids=repr,
)
def test_what_is_not_equal(yours, expected):
    with pytest.raises(Wrong, match="it must be"):
        equal("it", yours, expected)


def test_an_entry_of_whole_numbers_is_named():
    with pytest.raises(Wrong, match=r"ids\[1, 0\] is 7; it must be 3"):
        equal("ids", np.array([[1, 2], [7, 4]]), np.array([[1, 2], [3, 4]]))
    with pytest.raises(Wrong, match="must be an array"):
        numbers("ids", {1: 2})


def test_of_a_large_value_only_its_beginning_is_written_as_text():
    written = []

    class Slow:
        def __repr__(self):
            written.append(1)
            return "slow"

    assert shown([[Slow()] * 1000] * 1000) == "[[slow, slow, slow, slow, slow, slow, slow, slow, slow, s..."
    assert len(written) == 24 * 24
    assert shown({"a": [1, 2], "b": (np.arange(3),)}) == "{'a': [1, 2], 'b': (array([0, 1, 2]),)}"
    assert shown(np.zeros((100, 1000), int)) == "array([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0..."
