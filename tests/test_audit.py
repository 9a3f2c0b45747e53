"""The leak audit: it finds what is planted, says chance where nothing is, and measures what is meant."""

import numpy as np
import pytest

from minalbert.commands import data_lines
from minalbert.data import audit
from minalbert.errors import DataError

WORDS, CONNECTIVES, STOP = 200, (1, 2, 3), 0


def noise(count=4000, seed=0):
    """Pairs of segments whose labels nothing predicts."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 20, (count, 2))
    pairs = [tuple([*rng.integers(1, WORDS, size).tolist(), STOP] for size in row) for row in sizes]
    return pairs, rng.integers(0, 2, count), rng


def accuracies(findings):
    return {finding.probe: finding.accuracy for finding in findings}


def leaks(findings):
    return {finding.probe for finding in findings if finding.leaks}


def swap(pair, label):
    return pair[::-1] if label else pair


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_chance(seed):
    pairs, labels, _ = noise(seed=seed)
    findings = audit.audit(pairs, labels, CONNECTIVES, seed=seed)
    assert leaks(findings) == set()
    assert max(accuracies(findings).values()) < 0.56
    assert {finding.tested for finding in findings} == {1000}


def test_finds_a_planted_word():
    pairs, labels, rng = noise()
    planted = rng.random(len(pairs)) < 0.3
    pairs = [
        swap(([77, *a], b), y) if plant else (a, b) for (a, b), y, plant in zip(pairs, labels, planted, strict=True)
    ]
    findings = audit.audit(pairs, labels, CONNECTIVES, names=[f"w{i}" for i in range(WORDS)])
    assert "best single word" in leaks(findings)
    assert findings[0].detail == "'w77'"
    assert 0.6 < findings[0].accuracy < 0.75


def test_finds_planted_connectives():
    pairs, labels, _ = noise()
    pairs = [swap((a, [*b[:3], 2, *b[3:]]), y) for (a, b), y in zip(pairs, labels, strict=True)]
    assert "connectives only" in leaks(audit.audit(pairs, labels, CONNECTIVES))


def test_finds_planted_lengths():
    pairs, labels, _ = noise()
    pairs = [swap((sorted((a, b), key=len)), y) for (a, b), y in zip(pairs, labels, strict=True)]
    found = audit.audit(pairs, labels, CONNECTIVES)
    assert leaks(found) == {"length only"}
    assert accuracies(found)["length only"] > 0.9


@pytest.mark.parametrize("side", ["front", "back"])
def test_finds_planted_truncation(side):
    """Every segment begins with piece 5 and ends with the full stop, but for the second, truncated on one side."""
    pairs, labels, _ = noise()
    whole = [tuple([5, *(t for t in s if t != 5)] for s in pair) for pair in pairs]
    cut = (lambda s: s[2:]) if side == "front" else (lambda s: s[:-2])
    balanced = [(a[:-1] + a[1:3] + a[-1:], cut(b)) for a, b in whole]
    planted = [swap(pair, y) for pair, y in zip(balanced, labels, strict=True)]
    found = audit.audit(planted, labels, CONNECTIVES)
    assert "edges only" in leaks(found)
    assert accuracies(found)["edges only"] > 0.9
    clean = [swap(pair, y) for pair, y in zip(whole, labels, strict=True)]
    assert "edges only" not in leaks(audit.audit(clean, labels, CONNECTIVES))


def test_linear_and_bilinear_are_signals_not_leaks():
    """B's word follows A's on a ring of 12: no word tells the order, the two together do."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 4000)
    steps = rng.integers(0, 12, 4000)
    pairs = [
        swap(
            ([20 + step, *rng.integers(1, 20, 5).tolist()], [20 + (step + 1) % 12, *rng.integers(1, 20, 5).tolist()]), y
        )
        for step, y in zip(steps, labels, strict=True)
    ]
    findings = audit.audit(pairs, labels)
    accuracy = accuracies(findings)
    assert leaks(findings) == set()
    assert accuracy["linear on words"] < 0.56
    assert accuracy["bilinear A x B"] > 0.97
    assert "connectives only" not in accuracy


def test_same_seed_same_findings():
    pairs, labels, _ = noise(400)
    assert audit.audit(pairs, labels, CONNECTIVES, seed=1) == audit.audit(pairs, labels, CONNECTIVES, seed=1)
    assert audit.audit(pairs, labels, CONNECTIVES, seed=1) != audit.audit(pairs, labels, CONNECTIVES, seed=2)


def test_chance_bound_is_the_binomial_tail():
    """Ten fair guesses are all right once in 1,024 times: 9 is the most that chance explains, 10 at risk 1/2000."""
    assert audit.chance_bound(0.5, 10, risk=1 / 1000) == 0.9
    assert audit.chance_bound(0.5, 10, risk=1 / 2000) == 1.0
    assert audit.chance_bound(0.5, 10, risk=0.0108) == 0.8  # at least 9: 11/1024
    assert abs(audit.chance_bound(0.5, 10_000) - (0.5 + 3.09 * 0.005)) < 0.0005
    assert audit.chance_bound(1.0, 10) == 1.0


def test_gradients():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2, (6, 4)).astype(float) for _ in range(2))
    labels = rng.integers(0, 2, 6)
    model = audit.Model(*(rng.standard_normal(shape) for shape in ((4, 3), (4, 3), (4,), (4,), ())))

    def loss(*parameters):
        z = audit.Model(*parameters).score(a, b)
        return (np.logaddexp(0, z) - labels * z).mean()

    for i, grad in enumerate(audit.gradients(model, a, b, labels)):
        direction = rng.standard_normal(model[i].shape)
        step = 1e-5
        up, down = ([p + s * step * direction if j == i else p for j, p in enumerate(model)] for s in (1, -1))
        assert np.allclose((loss(*up) - loss(*down)) / (2 * step), (grad * direction).sum(), atol=1e-6)


def test_report():
    pairs, labels, _ = noise()
    pairs = [swap((sorted((a, b), key=len)), y) for (a, b), y in zip(pairs, labels, strict=True)]
    lines = data_lines.audit(audit.audit(pairs, labels, CONNECTIVES))
    verdicts = {line[:18].strip(): line[27:].strip() for line in lines}
    assert verdicts["length only"].startswith("LEAK, above 0.5")
    assert verdicts["connectives only"].startswith(("chance", "too few pairs to decide"))
    assert "1,000 pairs" in lines[-2]
    assert lines[-1].startswith("the labels leak: ")


def test_verdicts():
    def said(probe, accuracy, bound, limit):
        return data_lines.verdict(audit.Finding(probe, accuracy, 100, bound, limit))

    assert said("length only", 0.60, 0.52, 0.53) == "LEAK, above 0.530"
    assert said("length only", 0.51, 0.52, 0.53) == "chance"
    assert said("length only", 0.525, 0.52, 0.53) == "clean"
    assert said("length only", 0.60, 0.66, 0.66).startswith("too few pairs to decide")
    assert said("linear on words", 0.60, 0.52, None) == "an order signal"
    assert said("linear on words", 0.51, 0.52, None) == "chance"


@pytest.mark.parametrize(
    ("pairs", "labels", "sentence"),
    [
        ([([1], [2])] * 50, [0] * 49, "there are 50 pairs and 49 labels; an audit needs one label a pair"),
        ([([1], [2])] * 5, [0] * 5, "there are 5 pairs; an audit needs at least 40"),
        ([([1], [2])] * 50, [0, 2] * 25, "the labels hold 2; they must be 0 or 1"),
        ([([1], [2])] * 49 + [([], [1])], [0, 1] * 25, "pair 49 has an empty segment; both must hold a token"),
        ([([1], [2])] * 50, [0] * 50, "all 38 pairs to train on have the same label; an audit needs both labels"),
    ],
)
def test_refuses(pairs, labels, sentence):
    with pytest.raises(DataError) as error:
        audit.audit(pairs, labels)
    assert str(error.value) == sentence
