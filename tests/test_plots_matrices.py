"""Matrices and heads: each value once and in its place, the sign in the colour, rows down and columns across."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots
from minalbert.plots.matrices import colour

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")

VALUES = np.array([[0.5, -0.25, 0.0], [-1.0, -1e-17, 123.4]])


def texts(drawn):
    (axes,) = drawn.axes
    return {text.get_text(): text.get_position() for text in axes.texts if text.get_text()}


def cells(drawn):
    """(x, y) of the middle -> colour, for each cell."""
    (axes,) = drawn.axes
    return {
        (round(box.get_x() + box.get_width() / 2, 6), round(box.get_y() + box.get_height() / 2, 6)): box.get_facecolor()
        for box in axes.patches
    }


def test_each_value_is_written_once_in_its_cell():
    drawn = plots.matrices([{"name": "S", "values": VALUES, "rows": ["the", "cat"], "columns": ["one", "two", "six"]}])
    written = [text.get_text() for text in drawn.axes[0].texts]
    expected = "S one two six the cat 0.50 −0.25 0.00 −1.00 0.00 123"  # no -0.00, no digits of large numbers
    assert sorted(written) == sorted(expected.split())
    at = texts(drawn)
    assert at["0.50"][0] == at["−1.00"][0] == at["one"][0] < at["−0.25"][0] == at["two"][0] < at["123"][0]
    assert at["0.50"][1] == at["−0.25"][1] == at["the"][1] < at["−1.00"][1] == at["123"][1] == at["cat"][1]
    assert at["S"][1] < at["one"][1] < at["the"][1]
    assert at["the"][0] < at["one"][0]
    boxes = cells(drawn)
    assert len(boxes) == 6
    for value in ("0.50", "−0.25", "−1.00", "123"):
        assert tuple(np.round(at[value], 6)) in boxes, value
    assert inside(drawn)


def test_colour_is_the_sign_and_the_size():
    def shade(value, **more):
        at = cells(plots.matrices([{"values": [[value, 2.0]], **more}]))
        return np.array(min(at.items())[1][:3])  # the cell on the left

    red, _, blue = range(3)
    up, down, zero = shade(1.5), shade(-1.5), shade(0.0)
    assert up[blue] > up[red] + 0.2
    assert down[red] > down[blue] + 0.2
    assert np.ptp(zero) == 0  # no colour
    assert np.ptp(up) > np.ptp(shade(1.0)) > np.ptp(shade(0.1)) > 0
    assert (shade(0.004) == zero).all()  # written as 0.00
    assert (shade(9.0, largest=2) == shade(2.0)).all()
    assert (shade(1.0, largest=4) == shade(0.5)).all()
    assert np.ptp(next(iter(cells(plots.matrices([{"values": [[1e-17]]}])).values()))[:3]) == 0  # noise is not coloured
    assert (shade(np.nan) == zero).all()


def test_black_can_be_read_on_every_colour():
    for strength in np.linspace(-1, 1, 41):
        light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour(strength)]
        assert (np.dot(light, (0.2126, 0.7152, 0.0722)) + 0.05) / 0.05 > 7, strength


def test_operators_stand_between_and_nothing_overlaps():
    rows, columns = ["the", "[MASK]", "[PAD]"], ["1", "2"]
    tall, flat = np.arange(6.0).reshape(3, 2) + 0.5, -np.arange(6.0).reshape(2, 3) - 10
    drawn = plots.matrices(
        [
            {"name": "queries", "values": tall, "rows": rows, "columns": columns}, "@",
            {"name": "a long name", "values": flat, "rows": columns, "columns": rows}, "/ √2 =",
            {"name": "S", "values": tall @ flat}, "softmax",
            {"name": "a name that is wider than one", "values": tall[:, :1] + 90},
        ]
    )  # fmt: skip
    assert inside(drawn)
    at = texts(drawn)
    order = ["0.50", "1.50", "@", "−10.00", "−12.00", "/ √2 =", "−24.50", "softmax", "90.50"]
    assert [at[name][0] for name in order] == sorted(at[name][0] for name in order)
    middle = at["@"][1]
    assert at["2.50"][1] == pytest.approx(middle)  # the middle row of three
    assert (at["−10.00"][1] + at["−13.00"][1]) / 2 == pytest.approx(middle)  # between the two rows
    left, right = sorted(cells(plots.matrices([{"values": [[1]]}, {"values": [[2]]}])))
    assert right[0] - left[0] > 0.55  # two matrices, not one of two columns


@pytest.mark.parametrize(
    "item", [{"values": np.zeros(3)}, {"values": VALUES, "rows": ["one"]}, {"values": VALUES, "columns": ["a", "b"]}]
)
def test_what_does_not_fit_is_refused(item):
    with pytest.raises(ValueError):
        plots.matrices([item])


def probs_of(N, T):
    return np.random.default_rng(0).dirichlet(np.full(T, 0.3), (N, T))


def heads(drawn):
    """The meshes of the heads, the scale left out."""
    return [mesh for mesh in drawn.axes[0].collections if mesh.get_array().shape[0] > 1]


@pytest.mark.parametrize(("N", "columns"), [(1, 4), (3, 2), (12, 4), (5, 5)])
def test_each_head_is_drawn_once_and_named(N, columns):
    tokens = ["[CLS]", "the", "ferryman", "slept", "."]
    probs = probs_of(N, 5)
    drawn = plots.head_grid(probs, tokens, columns=columns)
    assert len(heads(drawn)) == N
    for mesh, expected in zip(heads(drawn), probs, strict=True):
        np.testing.assert_array_equal(mesh.get_array(), expected)
    written = [text.get_text() for text in drawn.axes[0].texts]
    assert [written.count(f"head {number + 1}") for number in range(N)] == [1] * N
    (axes,) = drawn.axes
    names = [text.get_position()[1] for text in axes.texts if text.get_text().startswith("head ")]
    for box in axes.patches:  # no name in the head above
        assert not any(box.get_y() < y < box.get_y() + box.get_height() for y in names)
    assert written.count("ferryman") == -(-N // columns) + min(N, columns)  # once a row of heads, once a column
    assert inside(drawn)


def test_two_grids_with_one_most_have_one_scale():
    low, high = np.full((1, 2, 2), 0.5), np.eye(2)[None]
    for most, scales in ((None, [(0, 0.5), (0, 1)]), (0.7, [(0, 0.7)] * 2)):
        drawn = [plots.head_grid(probs, ["a", "b"], most=most) for probs in (low, high)]
        assert [heads(each)[0].get_clim() for each in drawn] == scales
        for each, (_, full) in zip(drawn, scales, strict=True):
            assert f"{full:.0%} of what a row looks at" in texts(each)


def test_a_row_of_a_head_is_the_token_that_looks():
    """[0] looks at [2] alone: the only blue is in the upper right corner."""
    probs = np.zeros((1, 3, 3))
    probs[0, 0, 2] = 1
    drawn = plots.head_grid(probs, ["one", "two", "six"], names=["mine"])
    (mesh,) = heads(drawn)
    x, y = mesh.get_coordinates()[..., 0], mesh.get_coordinates()[..., 1]
    row, column = np.argwhere(mesh.get_array() == 1)[0]
    (axes,) = drawn.axes
    middle = axes.transData.transform([x[row : row + 2, column : column + 2].mean(), y[row : row + 2, :2].mean()])
    centre = axes.transData.transform([x.mean(), y.mean()])
    assert middle[0] > centre[0]
    assert middle[1] > centre[1]
    ones = {text.get_rotation(): text for text in axes.texts if text.get_text() == "one"}
    left, below = ones[0], ones[90]
    assert axes.transData.transform(left.get_position())[1] == pytest.approx(middle[1])
    assert axes.transData.transform(below.get_position())[0] < centre[0] < middle[0]
    assert "mine" in texts(drawn)
    assert "100% of what a row looks at" in texts(drawn)


@pytest.mark.parametrize("wrong", [{"tokens": ["a"]}, {"probs": np.ones((2, 3))}, {"names": ["one"]}])
def test_heads_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="probs has shape"):
        plots.head_grid(**{"probs": probs_of(2, 3), "tokens": list("abc")} | wrong)
