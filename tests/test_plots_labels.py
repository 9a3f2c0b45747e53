"""Scores over labels: a dot for each seed, a line through the medians, its name at its end."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")
PANELS = {
    "order\ntwo sentences": {
        "pretrained": {50: [0.5, 0.6, 0.7], 1000: [0.5, 0.9, 1.0]},
        "words": {50: [0.5], 200: [0.4], 1000: [0.55]},
    },
    "topic": {"words": {50: [0.3], 1000: [0.9]}},
}


def test_seeds_are_dots_and_medians_a_line():
    drawn = plots.label_curves(PANELS, guessing={"order\ntwo sentences": 0.5})
    order, topic = drawn.axes
    dots = sorted((line.get_xdata()[0], *sorted(line.get_ydata())) for line in order.lines if line.get_marker() == "o")
    assert [scores for _, *scores in dots] == [[0.5, 0.6, 0.7], [0.5], [0.4], [0.5, 0.9, 1.0], [0.55]]
    assert [place for place, *_ in dots] == pytest.approx([50, 50, 200, 1000, 1000], rel=0.06)
    assert len({place for place, *_ in dots}) == 5  # side by side
    lines = [line.get_xydata().tolist() for line in order.lines if line.get_linestyle() != "None"]
    assert [[50, 0.6], [1000, 0.9]] in lines
    assert [[50, 0.5], [200, 0.4], [1000, 0.55]] in lines
    assert [0.5, 0.5] in [np.asarray(line.get_ydata()).tolist() for line in order.lines]
    assert [label.get_text() for label in order.get_xticklabels()] == ["50", "200", "1,000"]
    assert {"pretrained", "words", "guessing", "two sentences"} <= {text.get_text() for text in order.texts}
    assert "guessing" not in {text.get_text() for text in topic.texts}
    assert inside(drawn)
    _, metadata = drawn._repr_mimebundle_()
    said = "order, medians by labels: pretrained 0.60 with 50, 0.90 with 1,000; words 0.50 with 50, 0.40 with 200"
    assert metadata["image/png"]["alt"].startswith(said)


@pytest.mark.parametrize(("share", "side"), [(1 / 16, "bottom"), (1 / 2, "top")])
def test_guessing_is_named_away_from_the_axis(share, side):
    topic = plots.label_curves(PANELS, guessing={"topic": share}).axes[1]
    (name,) = [text for text in topic.texts if text.get_text() == "guessing"]
    assert name.get_verticalalignment() == side


def test_a_name_looks_the_same_in_every_panel():
    order, topic = plots.label_curves(PANELS).axes
    colours = [{text.get_text(): text.get_color() for text in axes.texts}["words"] for axes in (order, topic)]
    assert colours[0] == colours[1]


def test_names_that_could_not_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="5 names were given"):
        plots.label_curves({"": {name: {50: [0.5]} for name in "abcde"}})
