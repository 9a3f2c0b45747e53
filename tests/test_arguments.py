"""The sentences of arguments: what is said, and what is let through."""

import numpy as np
import pytest

from minalbert.arguments import array, flag, number, of_kind, one_of, path_of, text, whole
from minalbert.errors import ConfigError, InputError


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: whole("top", 0, 1, 9), "top is 0; it must be a whole number, from 1 to 9"),
        (lambda: whole("top", True), "top is True; it must be a whole number, at least 0"),
        (lambda: whole("top", 3.0), "top is 3.0; it must be a whole number, at least 0"),
        (lambda: whole("top", 2**70), "top is 1180591620717411303424; it must be a whole number, from 0 to 922337"),
        (lambda: number("rate", float("nan"), above=0), "rate is nan; it must be a number, above 0"),
        (lambda: number("rate", 2, least=0, below=1), "rate is 2; it must be a number, at least 0 and below 1"),
        (lambda: number("rate", "2"), "rate is '2'; it must be a finite number"),
        (lambda: number("rate", 10**5000), "rate is an int; it must be a finite number"),
        (lambda: one_of("pool", [], ("a", "b")), r"pool is \[\]; it must be one of: a, b"),
        (lambda: flag("strict", 1), "strict is 1; it must be True or False"),
        (lambda: text("text", b"a"), "text is b'a'; it must be a text"),
        (lambda: path_of("run", ""), "run is ''; it must be the path of a file or a directory"),
        (lambda: path_of("run", "\ud800"), r"run is '\\ud800'; it must be the path of a file or a directory"),
        (lambda: of_kind("x", None, dict | list), "x is None; it must be a dict or list"),
        (lambda: array("x", np.ones((2, 3)), (2, None, 1)), r"x has shape \(2, 3\); it must be \(2, any, 1\)"),
        (lambda: array("x", np.array([1.0, np.inf])), "x has an entry that is infinite or not a number"),
        (lambda: array("x", np.array(["a"])), r"x is an array of shape \(1,\); it must be an array of numbers"),
    ],
)
def test_a_refusal_is_a_sentence(call, sentence):
    with pytest.raises(InputError, match=f"^{sentence}"):
        call()


def test_numbers_of_numpy_are_numbers():
    assert type(whole("n", np.int32(3))) is int
    assert type(number("x", np.float32(0.5))) is float
    assert flag("b", np.True_) is True


def test_the_caller_says_which_error():
    with pytest.raises(ConfigError):
        whole("n", -1, error=ConfigError)


def test_a_long_value_is_cut():
    with pytest.raises(InputError) as refused:
        whole("n", "x" * 10_000)
    assert len(str(refused.value)) < 200
