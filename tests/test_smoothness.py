"""Distances and angles of layers, at vectors whose answer one knows."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from minalbert import PRESETS, Albert, Batch
from minalbert.analysis.smoothness import angle, distance, roughness, smoothness
from minalbert.backend import to_host
from minalbert.experiments import smoothness as figure_1


def turned(x, degrees, scale=1.0):
    """(..., 2), turned in the plane"""
    a = np.radians(degrees)
    return scale * x @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


@pytest.mark.parametrize("degrees", [0, 1e-6, 30, 90, 135, 180])
@pytest.mark.parametrize("scale", [1, 0.01, 5])
def test_angles_are_those_turned_by_whatever_the_length(degrees, scale):
    x = np.array([[3.0, 4.0], [-1.0, 2.0]])
    np.testing.assert_allclose(angle(x, turned(x, degrees, scale)), degrees, rtol=1e-8, atol=1e-12)


def test_distances():
    np.testing.assert_allclose(distance(np.array([[1.0, 2.0], [0, 0]]), np.array([[4.0, 6.0], [0, 0]])), [5, 0])


def test_a_zero_vector_has_no_angle():
    assert angle(np.zeros((1, 3)), np.ones((1, 3))) == 0


def test_float32_is_widened_before_it_is_subtracted():
    x, y = np.random.default_rng(0).normal(size=(2, 1, 3, 4)).astype(np.float32)
    narrow, wide = smoothness([x, y]), smoothness([x.astype(np.float64), y.astype(np.float64)])
    np.testing.assert_allclose(narrow, wide, rtol=1e-13)


def test_layers_are_averaged_over_the_tokens_that_count():
    x = np.array([[[3.0, 4.0], [1.0, 0.0], [7.0, 7.0]]])
    mask = np.array([[1, 1, 0]])
    y = np.stack([turned(x[:, 0], 90), turned(x[:, 1], 30), 99 * x[:, 2]], axis=1)
    found = smoothness([x, y, y], mask)
    assert found.angles == pytest.approx([60, 0])
    assert found.distances == pytest.approx([(5 * 2**0.5 + 2 * np.sin(np.radians(15))) / 2, 0])
    assert smoothness([x, y]).distances[0] > 300


def test_rough_is_what_leaves_the_straight_line_between_first_and_last():
    assert roughness([50, 9, 7, 5, 3, 90]) == 0
    assert roughness([50, 1, 3, 2, 2, 90]) == pytest.approx((1.5 + 0.5) / 2)
    assert roughness([0, 1, 3, 1, 0]) == roughness([0, 3, 1, 3, 0]) == 2
    with pytest.raises(ValueError, match=r"4 layers .* three"):
        roughness([1, 2, 3, 4])


def test_what_cannot_be_measured_is_said():
    x = np.ones((1, 2, 3))
    with pytest.raises(ValueError, match="1 state"):
        smoothness([x])
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        smoothness([x, x], np.ones((2, 1)))


def test_of_a_model(device):
    """The plain formulas, token by token."""
    model = Albert.init(PRESETS["tiny"], dtype="float64").to(device)
    ids, mask = np.array([[2, 9, 8, 3], [2, 7, 3, 0]]), np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    states = model.hidden_states(ids, mask)
    found, host = smoothness(states, mask), [to_host(state)[mask == 1] for state in states]
    for layer, (x, y) in enumerate(pairwise(host)):
        cosines = [a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in zip(x, y, strict=True)]
        assert found.angles[layer] == pytest.approx(np.degrees(np.arccos(cosines)).mean(), rel=1e-10)
        apart = [np.sqrt((b - a) @ (b - a)) for a, b in zip(x, y, strict=True)]
        assert found.distances[layer] == pytest.approx(np.mean(apart), rel=1e-10)


def test_a_run_of_figure_1_stores_every_layer():
    """Fresh and trained, so that the figure can be drawn without the models."""
    config = PRESETS["tiny"].replace(num_hidden_layers=5)
    batch = Batch.random(config, size=2, length=6, predictions=1)
    held_out = SimpleNamespace(seed=0, batch=lambda _: batch)
    model = Albert.init(config, seed=1)
    scores = figure_1.measure(model, held_out)
    for each, ending in ((model, ""), (Albert.init(config, seed=0), ", fresh")):
        found = smoothness(each.hidden_states(*batch[:3]), batch.attention_mask)
        for layer in range(5):
            assert scores[f"angle {layer + 1}{ending}"] == pytest.approx(found.angles[layer])
            assert scores[f"distance {layer + 1}{ending}"] == pytest.approx(found.distances[layer])
