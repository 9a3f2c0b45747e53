"""Scores of tasks against scikit-learn and scipy, on random and on odd input."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

stats = pytest.importorskip("scipy.stats", reason="scipy is not installed; make parity compares with it")
peers = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed; make parity compares with it")

from minalbert.tasks import metrics  # noqa: E402
from minalbert.tasks.mistakes import confusion  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:An input array is constant"),
    pytest.mark.filterwarnings("ignore:A single label was found"),
]


def lists(values):
    return st.integers(2, 40).flatmap(lambda n: st.tuples(*[st.lists(values, min_size=n, max_size=n)] * 2))


@given(lists(st.integers(0, 1)))
def test_two_classes(given):
    found, labels = map(np.array, given)
    assert metrics.accuracy(found, labels) == peers.accuracy_score(labels, found)
    assert metrics.f1(found, labels) == pytest.approx(peers.f1_score(labels, found, zero_division=0), rel=1e-15)
    assert metrics.matthews(found, labels) == pytest.approx(peers.matthews_corrcoef(labels, found), rel=1e-14)


@given(lists(st.integers(0, 3)))
def test_several_classes(given):
    found, labels = map(np.array, given)
    assert metrics.matthews(found, labels) == pytest.approx(peers.matthews_corrcoef(labels, found), rel=1e-14)


@given(lists(st.sampled_from([-1.5, 0.1, 0.25, 1 / 3, 4.75])))
@example(([0.1] * 3, [0, 1, 2]))  # their mean is not 0.1
def test_numbers_with_ties(given):
    found, labels = map(np.array, given)
    for mine, theirs in ((metrics.pearson, stats.pearsonr), (metrics.spearman, stats.spearmanr)):
        right = theirs(found, labels).statistic
        assert mine(found, labels) == pytest.approx(float(right), rel=1e-12, abs=1e-14, nan_ok=True)


@given(lists(st.integers(0, 3)))
def test_which_classes_are_taken_for_which(given):
    found, labels = map(np.array, given)

    class Classes:
        def classes(self, *_):
            return ("a", "b", "c", "d"), labels, found

    expected = peers.confusion_matrix(labels, found, labels=range(4))
    np.testing.assert_array_equal(confusion(Classes(), None, None).counts, expected)
