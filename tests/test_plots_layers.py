"""Figures over layers: each number where it belongs, each line named at its end, nothing outside the picture."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")

FOUND = {"shared": (np.arange(12.0) + 1, np.arange(12.0) * 3), "unshared": ([6.0] * 12, [50.0] * 12)}
LIMIT = 1e-6


def curves(axes):
    """The lines with dots, without grids and leaders."""
    return [each for each in axes.lines if each.get_marker() == "o"]


def said(axes):
    return [text.get_text() for text in axes.texts]


def ticks(axes):
    """{name: place} of those on the x axis"""
    names = [label.get_text() for label in axes.get_xticklabels()]
    return dict(zip(names, axes.get_xticks(), strict=True))


def test_two_panels_have_distances_and_angles_of_layers_from_one():
    drawn = plots.smoothness_curves(FOUND, "the title")
    for i, (axes, name) in enumerate(zip(drawn.axes, ("distance", "angle"), strict=True)):
        assert axes.get_title(loc="left") == name
        for curve, values in zip(curves(axes), FOUND.values(), strict=True):
            np.testing.assert_array_equal(curve.get_xdata(), range(1, 13))
            np.testing.assert_array_equal(curve.get_ydata(), values[i])
        assert ticks(axes) == {str(layer): layer for layer in range(1, 13)}
        low, high = axes.get_ylim()
        assert low < 0 < max(FOUND["shared"][i].max(), FOUND["unshared"][i][0]) < high
        for name in FOUND:
            assert said(axes).count(name) == 1
    assert [text.get_text() for text in drawn.texts] == ["the title"]
    assert inside(drawn)


def test_lines_are_told_apart_without_colour():
    shared, unshared = curves(plots.smoothness_curves(FOUND).axes[0])
    assert shared.get_linestyle() != unshared.get_linestyle()
    shared, unshared = curves(plots.layer_differences({"a": [1, 2], "b": [2, 1]}, 1).axes[0])
    assert shared.get_linestyle() != unshared.get_linestyle()


@pytest.mark.parametrize("layers", [1, 2, 13, 24, 48])
def test_where_there_is_room_for_some_layers_the_last_is_named(layers):
    drawn = plots.smoothness_curves({"one": (np.ones(layers), np.zeros(layers))})
    for axes in drawn.axes:
        named = ticks(axes)
        assert len(named) <= 13
        assert named[str(layers)] == layers
        assert all(str(place) == name for name, place in named.items())
    assert inside(drawn)


def test_names_of_lines_that_end_together_stand_apart():
    values = np.linspace(5, 1, 12)
    assert inside(plots.smoothness_curves({name: (values, values) for name in ("one", "two", "three", "four")}))


def test_differences_and_their_limit():
    found = {"right": [1e-16, 2e-16, 3e-16], "wrong": [1e-16, 0.5, 0.25]}
    drawn = plots.layer_differences(found, LIMIT, title="two readings")
    (axes,) = drawn.axes
    assert axes.get_yscale() == "log"
    for curve, values in zip(curves(axes), found.values(), strict=True):
        np.testing.assert_array_equal(curve.get_xdata(), range(3))
        np.testing.assert_array_equal(curve.get_ydata(), values)
    assert sum(list(each.get_ydata()) == [LIMIT, LIMIT] for each in axes.lines) == 1
    assert ticks(axes) == {"enters": 0, "1": 1, "2": 2}
    assert axes.get_title(loc="left") == "two readings"
    for name in ("right", "wrong", "limit 1e-06"):
        assert said(axes).count(name) == 1
    low, high = axes.get_ylim()
    assert low < 1e-16 < 0.5 < high
    assert inside(drawn)


def test_a_difference_of_zero_stands_at_the_lower_edge():
    (axes,) = plots.layer_differences({"same": [0, 0, 0.5]}, LIMIT).axes
    (curve,) = curves(axes)
    assert list(curve.get_ydata()) == [axes.get_ylim()[0]] * 2 + [0.5]


def test_what_is_no_number_is_a_cross_at_the_upper_edge():
    drawn = plots.layer_differences({"broken": [1e-9, np.nan, np.inf], "right": [1e-9] * 3}, LIMIT)
    (axes,) = drawn.axes
    crosses = [each for each in axes.lines if each.get_marker() == "x" and len(each.get_xdata())]
    (cross,) = crosses
    assert list(cross.get_xdata()) == [1, 2]
    assert list(cross.get_ydata()) == [axes.get_ylim()[1]] * 2
    assert said(axes).count("broken") == 1
    assert inside(drawn)


def test_more_lines_than_can_be_told_apart():
    for draw in (plots.smoothness_curves, lambda found: plots.layer_differences(found, LIMIT)):
        for count in (0, 5):
            with pytest.raises(ValueError, match="distinguishable"):
                draw({str(number): [[1.0, 2.0], [1.0, 2.0]] for number in range(count)})
