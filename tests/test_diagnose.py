"""From a wrong gradient to a guess: each rule fires on its own mistake, in its turn, and on nothing else."""

import numpy as np
import pytest

from minalbert.gradcheck.diagnose import Law, guess, guess_shape

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
        (overwritten(), ROWS, {}, "only rows [1, 4] are wrong"),
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


def test_laws_come_before_signatures():
    assert guess(2 * G, G, laws=(LAW,), suspects={"twice": 2 * G}) == LAW.says
    assert guess(2 * SUMS_TO_ZERO, SUMS_TO_ZERO, laws=(LAW,), suspects={"twice": 2 * SUMS_TO_ZERO}) == "twice"


def test_shapes():
    assert guess_shape((3, 4), (4, 3), {}) == "transposed"
    assert "sum over axis 0" in guess_shape((5, 4), (1, 4), {})
    assert "broadcast" in guess_shape((2, 3, 4), (4,), {})
