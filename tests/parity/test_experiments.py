"""Intervals and the linear probe of the experiments, beside SciPy's and scikit-learn's."""

import numpy as np
import pytest

from minalbert.experiments import intervals, linear_probe

stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")


def test_quantiles_are_students():
    found = [stats.t.ppf(0.975, freedom) for freedom in range(1, 1 + len(intervals.T))]
    assert found == pytest.approx(intervals.T, abs=5e-4)


def test_an_interval_is_that_of_scipy():
    values = [0.92, 0.915, 0.905, 0.921, 0.87]
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert intervals.interval_of(values).ends == pytest.approx((low, high), abs=1e-4)


def test_the_probe_finds_the_weights_of_scikit_learn():
    """Whose C is 1 / (penalty × examples)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 6))
    labels = (x @ rng.normal(size=6) + rng.normal(size=500) + 0.3 > 0).astype(int)
    theirs = linear.LogisticRegression(C=1 / (linear_probe.PENALTY * 500), tol=1e-10, max_iter=1000).fit(x, labels)
    ours = linear_probe.fitted(x, labels)
    np.testing.assert_allclose(ours, [*theirs.coef_[0], *theirs.intercept_], rtol=1e-4)
