"""Right answers are computed once, for all who are asked the same."""

import numpy as np
import pytest

from minalbert_course.remembered import remembered


@pytest.fixture
def double():
    @remembered
    def double(x, *rest, named=None):
        calls.append(x)
        return {"y": [2 * x], "rest": rest}

    calls = []
    double.calls = calls
    return double


def test_equal_arguments_are_asked_once_and_others_again(double):
    x = np.arange(3.0)
    for arg in (x, x.copy(), x + 1, x.astype("float32"), x.reshape(3, 1)):
        assert np.array_equal(double(arg)["y"][0], 2 * arg)
    assert len(double.calls) == 4
    assert double(x, "with", None)["rest"] == ("with", None)
    assert len(double.calls) == 5
    assert double(x=x, named=1)["rest"] == ()
    assert len(double.calls) == 6


def test_the_same_array_with_other_numbers_is_another(double):
    x = np.arange(3.0)
    double(x)
    x[0] = 5
    assert double(x)["y"][0][0] == 10


def test_what_was_given_can_be_written_into_and_changes_nothing():
    whole = remembered(lambda x: x[1:])
    x = np.arange(3.0)
    whole(x)
    x[2] = 99
    assert whole(np.arange(3.0)).tolist() == [1, 2]


def test_nobody_can_write_into_what_others_get(double):
    with pytest.raises(ValueError, match="read-only"):
        double(np.arange(3.0))["y"][0][0] = 1
