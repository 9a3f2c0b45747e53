"""Figures of functions and of gradients: every entry in its own place, wrong ones to be told from rounding."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots
from minalbert.errors import InputError

EXPECTED = np.array([[2.0, -1.0, 0.5], [0.25, 1.0, -2.0]])


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def cells(drawn):
    """What the heat map shows: (R, C, 4)."""
    return np.asarray(drawn.axes[0].images[0].get_array())


def told(pixel):
    """As a reader sees it."""
    red, green, blue, alpha = pixel
    if not alpha:
        return "clear"
    return "grey" if red == green == blue else "orange" if red > green > blue else "?"


def test_a_wrong_entry_is_orange_in_its_own_place_and_has_its_error_written_in():
    yours = EXPECTED.copy()
    yours[0, 1] += 0.5
    yours[1, 0] += 1e-13
    yours[1, 2] = np.nan
    drawn = plots.gradient_errors(yours, EXPECTED, ["the", "ferry"], ["a", "b", "c"], "dtable")
    seen = [[told(pixel) for pixel in row] for row in cells(drawn)]
    assert seen == [["clear", "orange", "clear"], ["grey", "clear", "orange"]]
    assert cells(drawn)[1, 2] == pytest.approx(np.asarray(drawn.axes[0].images[1].get_array())[0, -1], abs=0.02)
    (axes,) = drawn.axes
    at = {text.get_text(): text.get_position() for text in axes.texts}
    left, right, bottom, top = axes.images[0].get_extent()
    for said, i, j in (("0.25", 0, 1), ("nan", 1, 2)):
        assert at[said] == pytest.approx((left + (j + 0.5) * (right - left) / 3, top + (i + 0.5) * (bottom - top) / 2))
    assert at["the"][1] == at["0.25"][1]
    assert at["ferry"][1] == at["nan"][1]
    assert at["b"][0] == at["0.25"][0]
    assert at["c"][0] == at["nan"][0]
    assert texts(axes)[:2] == ["dtable", "relative to the largest expected entry, 2"]
    assert inside(drawn)


@pytest.mark.parametrize(("size", "limit"), [(None, 2e-10), (50.0, 5e-9)])
def test_the_limit_is_the_checks(size, limit):
    yours = EXPECTED + np.array([[0.9 * limit, 1.1 * limit, -1.1 * limit], [0, np.inf, 1e9]])
    drawn = plots.gradient_errors(yours, EXPECTED, size=size)
    seen = [[told(pixel) for pixel in row] for row in cells(drawn)]
    assert seen == [["grey", "orange", "orange"], ["clear", "orange", "orange"]]
    assert texts(drawn.axes[0]).count("1e-10") == 3  # two entries, and the scale
    assert inside(drawn)


def test_the_scale_shows_the_colours_of_the_cells():
    errors = 10.0 ** -np.arange(1, 16)
    drawn = plots.gradient_errors(errors, np.zeros(15))
    (axes,) = drawn.axes
    bar = np.asarray(axes.images[1].get_array())[0]
    assert axes.images[1].get_extent()[1] == axes.images[1].get_extent()[0] + 4.0
    at = {text.get_text(): text.get_position()[0] for text in axes.texts if text.get_position()[1] > 0.4}
    assert [at[power] for power in ("1e-16", "1e-10", "1e-5", "1")] == pytest.approx([0, 1.5, 2.75, 4.0])
    for power, pixel in zip(range(1, 16), cells(drawn)[0], strict=True):
        place = round(320 * (1 - power / 16))
        assert abs(bar[place - 1 : place + 1] - pixel).max(axis=-1).min() < 0.02, power
    grey = cells(drawn)[0][::-1][:5, 3]
    assert (np.diff(grey) > 0).all()  # the larger, the darker
    assert (np.diff(cells(drawn)[0][::-1][6:, 1]) < 0).all()


@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 5), (48, 64), (200, 4), (3, 400), (1, 1)])
def test_any_tensor_fits(shape):
    yours = np.random.default_rng(0).standard_normal(shape)
    drawn = plots.gradient_errors(yours, 2 * yours)
    R, C, _ = cells(drawn).shape
    assert yours.size == R * C
    assert yours.ndim < 1 or shape[-1] == C
    assert "0" in texts(drawn.axes[0])
    assert inside(drawn)


def test_curves_are_named_at_their_ends_in_their_own_colours():
    from matplotlib.colors import to_hex

    x = np.linspace(-3, 3, 61)
    bent = np.where(abs(x) < 1, np.nan, -x)
    drawn = plots.curves(x, {"first\nand what it is": {"same": x, "again": x, "down": bent}, "second": {"one": x * x}})
    for axes, lines in zip(drawn.axes, ({"same": x, "again": x, "down": bent}, {"one": x * x}), strict=True):
        named = {text.get_text(): to_hex(text.get_color()) for text in axes.texts if text.get_text() in lines}
        assert list(named) == list(lines)
        assert len(set(named.values())) == len(lines)
        for name, y in lines.items():
            (drawn_line,) = [
                line for line in axes.lines if len(line.get_xdata()) > 9 and line.get_color() == named[name].upper()
            ]
            seen = dict(zip(drawn_line.get_xdata(), drawn_line.get_ydata(), strict=True))
            assert seen == {at: value for at, value in zip(x, y, strict=True) if value == value}
            low, high = axes.get_ylim()
            assert low < np.nanmin(y) < np.nanmax(y) < high
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["first", "second"]
    assert "and what it is" in texts(drawn.axes[0])
    assert inside(drawn)


def test_more_lines_than_colours_are_refused():
    with pytest.raises(InputError, match="6 lines"):
        plots.curves([0, 1], {"many": {str(i): [0, i] for i in range(6)}})


@pytest.mark.parametrize("order", [1, -1])
def test_errors_fall_from_left_to_right_and_the_least_has_a_dot(order):
    h = 10.0 ** -np.arange(1, 17)[::order]
    errors = {"there and back": h + 1e-16 / h, "down": np.where(h > 1e-8, h * h, 0)}
    drawn = plots.error_curves(h, errors, "errors\nrelative")
    (axes,) = drawn.axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xlim() == (0.1, 1e-16)
    (dot,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == pytest.approx((1e-8, 2e-8))
    assert texts(axes)[0] == "relative"
    assert {"there and back, least at h = 1e-08", "down"} < set(texts(axes))
    alt = drawn._repr_mimebundle_()[1]["image/png"]["alt"]
    assert "there and back from 0.1 down to 2e-08, and up to 1, down from 0.01 down to 1e-14" in alt
    down = axes.lines[2]
    assert list(down.get_xdata()) == pytest.approx(list(10.0 ** -np.arange(1, 8)))  # where it is zero there is none
    assert inside(drawn)


def test_stages_have_one_scale_and_say_mean_and_deviation():
    x = np.array([5.0, -1.0, 3.0, 1.0])
    vectors = {"x": x, "less its mean": x - x.mean(), "divided": (x - 2) / x.std(), "nothing": 0 * x}
    drawn = plots.stages(vectors, "a vector")
    scales = []
    for axes, (name, vector) in zip(drawn.axes, vectors.items(), strict=True):
        (*bars,) = (patch for patch in axes.patches if patch.get_width() == pytest.approx(0.6))
        assert [bar.get_height() for bar in bars] == list(vector)
        assert texts(axes) == [name, f"mean {abs(vector.mean()):.1f}\ndeviation {vector.std():.1f}"]
        low, high = axes.get_ylim()
        assert low <= vector.min() <= vector.max() <= high
        scales.append((high - low) / axes.bbox.height)
    assert scales == pytest.approx(scales[:1] * 4)
    tops = [axes.get_position().y1 for axes in drawn.axes]
    assert all(axes.get_position().y0 > top for axes, top in zip(drawn.axes, tops[1:], strict=False))
    assert inside(drawn)
