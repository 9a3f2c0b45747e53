"""Lines over steps and bars over words: all are drawn, once, on one scale, and named where they are."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")

STEPS = np.arange(30)
TENSORS = {
    "embeddings.word": 0.03 + 0.001 * STEPS,
    "encoder.attention.query.w": np.where(STEPS < 3, 0.0, 0.04),
    "encoder.ffn.up.w": np.full(30, 0.04),
    "sop.w": 0.2 / (1 + STEPS),
}


def lines(axes):
    """The data lines, without those that lead to names."""
    return [line for line in axes.lines if line.get_transform() == axes.transData]


def test_every_tensor_has_its_line_and_its_name():
    drawn = plots.ratio_curves({"trust ratios\nof each matrix": TENSORS})
    (axes,) = drawn.axes
    assert axes.get_title(loc="left") == "trust ratios"
    texts = [text.get_text() for text in axes.texts]
    assert sorted(texts) == ["attention query", "embeddings word", "ffn up", "of each matrix", "sop"]
    found = lines(axes)
    assert len(found) == len(TENSORS)
    for line, values in zip(found, TENSORS.values(), strict=True):
        shown = np.asarray(values)[values > 0]
        assert line.get_ydata() == pytest.approx(shown)
        assert line.get_xdata() == pytest.approx(STEPS[values > 0])
    assert axes.get_yscale() == "log"
    assert inside(drawn)


def test_a_name_has_its_lines_colour_and_stands_beside_its_end():
    (axes,) = plots.ratio_curves({"": {"a": STEPS / 30, "b": 1 - STEPS / 30}}, log=False).axes
    for line, name in zip(lines(axes), "ab", strict=True):
        (text,) = (text for text in axes.texts if text.get_text() == name)
        assert text.get_color() == line.get_color()
        end = axes.transAxes.inverted().transform(axes.transData.transform((29, line.get_ydata()[-1])))[1]
        assert text.xy[1] == pytest.approx(end, abs=0.05)


def test_panels_have_one_scale_and_the_steps_given():
    drawn = plots.ratio_curves({"small": {"a": [0.01, 0.02]}, "large": {"a": [1.0, 5.0]}}, steps=[10, 500])
    low, high = drawn.axes[0].get_ylim()
    assert drawn.axes[1].get_ylim() == (low, high)
    assert low < 0.01
    assert high > 5
    assert lines(drawn.axes[1])[0].get_xdata() == pytest.approx([10, 500])
    assert drawn.axes[0].get_position().y0 > drawn.axes[1].get_position().y1


def test_without_a_logarithm_zero_is_a_value():
    (axes,) = plots.ratio_curves({"rate": {"a": np.linspace(0, 1, 5)}}, log=False).axes
    assert lines(axes)[0].get_ydata() == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 1


WORDS = ["soup", "bread", "rain"]
PANELS = {
    "before\np": [0.6, 0.3, 0.1],
    "gradient\np − onehot": [0.6, -0.7, 0.1],
    "tiny\na second line that is far longer than a bar": [0.004, -0.004, 0.0],
    "last\nbeside it": [0.1, 0.1, 0.8],
}


def test_every_probability_is_a_bar_with_its_number():
    drawn = plots.distribution_bars(WORDS, PANELS, label=1)
    names = [text for text in drawn.axes[0].texts if text.get_text() in WORDS]
    assert [(text.get_text(), text.get_fontweight()) for text in names] == [
        ("soup", "normal"), ("bread", "bold"), ("rain", "normal"),
    ]  # fmt: skip
    for axes, (title, values) in zip(drawn.axes, PANELS.items(), strict=True):
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(values)
        assert [bar.get_y() + bar.get_height() / 2 for bar in axes.patches] == pytest.approx([0, 1, 2])
        texts = [text.get_text() for text in axes.texts]
        for said in title.split("\n"):
            assert texts.count(said) == 1
    heights = [text.get_window_extent().y0 for text in names]
    assert heights == sorted(heights, reverse=True)
    assert [text.get_text() for text in drawn.axes[1].texts][:3] == ["0.60", "−0.70", "0.10"]
    assert [text.get_text() for text in drawn.axes[2].texts][:3] == ["0.00", "0.00", "0.00"]
    assert inside(drawn)


def test_a_number_stands_beyond_its_bar():
    for axes in plots.distribution_bars(WORDS, PANELS).axes:
        for bar, text in zip(axes.patches, axes.texts, strict=False):
            (left, right), said = sorted((0, bar.get_width())), text.get_window_extent()
            ends = axes.transData.transform([(left, 0), (right, 0)])[:, 0]
            assert said.x1 < ends[0] if bar.get_width() < 0 else said.x0 > ends[1]


def test_bars_have_one_scale_and_two_colours():
    drawn = plots.distribution_bars(WORDS, PANELS)
    inches = [bar.get_window_extent().width / bar.get_width() for axes in drawn.axes for bar in axes.patches
              if bar.get_width() > 0]  # fmt: skip
    assert inches == pytest.approx([inches[0]] * len(inches))
    for axes in drawn.axes:
        colours = {bar.get_width() < 0: bar.get_facecolor() for bar in axes.patches}
        assert len(set(colours.values())) == len(colours)
        low, high = axes.get_xlim()
        assert low <= min(0, *(bar.get_width() for bar in axes.patches))
        assert high >= max(bar.get_width() for bar in axes.patches)
