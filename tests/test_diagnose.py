"""From a wrong gradient to a guess: each rule fires on its own mistake, in its turn, and on nothing else."""

import numpy as np
import pytest

from minalbert.gradcheck.diagnose import Law, certain, digits, guess, guess_shape, in_words

RNG = np.random.default_rng(0)
G = RNG.standard_normal((4, 3, 5))
ROWS = RNG.standard_normal((6, 4))
SUMS_TO_ZERO = G - G.mean(axis=-1, keepdims=True)
LAW = Law("rows must sum to zero", lambda dx: dx.sum(axis=-1))


def with_nan():
    bad = G.copy()
    bad[1, 2, 3] = np.nan
    return bad


def overwritten():
    bad = ROWS.copy()
    bad[[1, 4]] += 1.0
    return bad


@pytest.mark.parametrize(
    ("yours", "expected", "knowledge", "says"),
    [
        (with_nan(), G, {}, "not a number: the first one that is not finite is at [1, 2, 3]"),
        (np.full_like(G, np.inf), G, {}, "infinite: the first one"),
        (0 * G, G, {}, "zero everywhere"),
        (G, SUMS_TO_ZERO, {"laws": (LAW,)}, "rows must sum to zero"),
        (-G, G, {}, "the sign is wrong"),
        (3 * G, G, {}, "yours is 3 times"),
        (G / 3, G, {}, "0.333333 (1/3) times"),
        (8**0.5 * G, G, {}, "2.82843 (√8) times"),
        (8**0.5 * G, G, {"known": {"√D": 8**0.5}}, "2.82843 (√D) times"),
        (G / 7, G, {"known": {"N": 7}}, "(1/N) times"),
        (G[:, :, :3].swapaxes(-1, -2), G[:, :, :3], {}, "transposed"),
        (overwritten(), ROWS, {}, "only rows [1, 4] are wrong: are they used more than once"),
        (overwritten(), ROWS, {"gradient": False}, "seen: only rows [1, 4] are wrong"),
        (ROWS + RNG.standard_normal(4), ROWS, {}, "constant along the first axis"),
        (ROWS + RNG.standard_normal((6, 1)), ROWS, {}, "constant along the last axis"),
        (G**3, G, {"suspects": {"cubed": lambda: G**3}}, "cubed"),
        (np.float64(2.5), np.float64(2.0), {"suspects": {"half too much": 2.5}}, "half too much"),
        (G.astype(np.float32), G, {}, "float32"),
        (G * (1 + 5e-6 * np.sign(RNG.standard_normal(G.shape))), G, {}, "float32 crept in"),
    ],
)
def test_a_rule_says_what_it_sees(yours, expected, knowledge, says):
    assert says in guess(np.atleast_1d(yours), np.atleast_1d(expected), **knowledge)


def test_where_nothing_fits_nothing_is_said():
    assert guess(RNG.standard_normal(G.shape), G) is None
    assert guess(RNG.standard_normal(G.shape) + 0, G, suspects={"other": 2 * G}, known={"N": 3}) is None


def test_a_law_that_holds_is_not_named():
    noise = RNG.standard_normal(G.shape)
    assert guess(noise - noise.mean(axis=-1, keepdims=True), SUMS_TO_ZERO, laws=(LAW,)) is None


def test_a_small_mistake_is_not_taken_for_a_factor_near_one():
    nearly = G + 1.5e-5 * RNG.standard_normal(G.shape)
    assert not certain(guess(nearly, G))


def test_what_gives_the_very_numbers_comes_before_laws():
    assert guess(2 * G, SUMS_TO_ZERO, laws=(LAW,), suspects={"twice": 2 * G}) == "twice"
    assert guess(G, SUMS_TO_ZERO, laws=(LAW,)) == f"seen: {LAW.says}"
    assert guess(-SUMS_TO_ZERO, SUMS_TO_ZERO, laws=(LAW,)) == "the sign is wrong"


WHOLE = np.arange(1.0, 13).reshape(3, 4) ** 1.5
SQUARE = RNG.standard_normal((2, 4, 4))


@pytest.mark.parametrize(
    ("yours", "expected", "says"),
    [
        (np.abs(G), G, "these are absolute values"),
        (np.maximum(G, 0), G, "what is below 0 is cut to that"),
        (G * G, G, "squared"),
        (np.sqrt(WHOLE), WHOLE, "a root too many"),
        (1 / WHOLE, WHOLE, "upside down"),
        (WHOLE / np.log(2), WHOLE, "(1/ln 2, a logarithm to base 2) times"),
        (np.roll(G, 1, axis=1), G, "shifted by one along axis 1: an index is one too small"),
        (np.flip(ROWS, 0), ROWS, "in reverse order along the first axis"),
        (np.concatenate([0 * ROWS[:1], ROWS[1:]]), ROWS, "the first entry along the first axis is left out"),
        (np.broadcast_to(WHOLE.mean(axis=1, keepdims=True), (3, 4)), WHOLE, "the mean along the last axis stands"),
        (SQUARE.swapaxes(1, 2), SQUARE, "transposed"),
        (G / 60, G, "0.0166667 (1/60) times what is expected, everywhere; 60 is the number of entries"),
        (WHOLE / 2, WHOLE, "(1/2) times"),
        (np.array([2.0]), np.array([4.0]), "0.5 (1/2) times"),
        (WHOLE + 0.3, WHOLE, "perhaps: a term is missing or wrong that is -0.3 everywhere"),
        (WHOLE * np.array([[2.0], [3], [5]]), WHOLE, "perhaps: a factor that is the same all along the last axis"),
        (G + np.where(np.arange(5) == 3, 1 + G * G, 0), G, "12 of 60 entries are wrong, all of them at index 3"),
        (G * np.where(G < 0, 2 + G * G, 1), G, "entries are wrong, those where a negative number is expected"),
        (G * (np.arange(3) == 1)[:, None], G, "seen: 40 of 60 entries are zero, and must not be"),
        (1.00004 * G, G, "yours is 1.00004 times"),
    ],
)  # fmt: skip
def test_mistakes_that_need_only_the_right_answer_to_be_known(yours, expected, says):
    assert says in guess(yours, expected)


@pytest.mark.parametrize(
    ("ratio", "says"), [(1.0000004, "1.0000004"), (0.99999996, "0.99999996"), (1.0, "1"), (2 / 3, "0.666667")]
)
def test_a_ratio_that_is_not_one_is_not_shown_as_one(ratio, says):
    assert digits(ratio) == says


def test_only_what_gives_the_very_numbers_is_certain():
    assert certain(guess(-G, G))
    assert not certain(guess(0 * G, G))
    assert not certain(guess(overwritten(), ROWS))
    assert in_words("seen: x") == "seen: x"
    assert in_words("x") == "looks like: x"


def test_a_candidate_that_is_far_too_large_fits_nothing():
    nearly = SUMS_TO_ZERO / 1e3
    assert guess(RNG.standard_normal(G.shape), nearly) is None


def test_shapes():
    assert guess_shape((3, 4), (4, 3), {}) == "transposed"
    assert "sum over axis 0" in guess_shape((5, 4), (1, 4), {})
    assert "broadcast" in guess_shape((2, 3, 4), (4,), {})
    assert guess_shape((1, 4), (4,), {}) == "seen: axes of size 1 are added"
