"""Shares as dots: each where it belongs, its mean beside it."""

import pytest
from test_plots import inside

from minalbert import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")
ROWS = {"next": {"NSP": [0.02, 0.04], "SOP": [0.01, 0.03]}, "swapped": {"NSP": [0.1, 0.2], "SOP": [0.9, 1.0]}}


def test_every_share_is_a_dot_in_its_row_and_the_mean_is_said():
    drawn = plots.share_dots(ROWS, "how often?\nby kind", level=0.5)
    (axes,) = drawn.axes
    dots = {tuple(line.get_xdata()): line.get_ydata()[0] for line in axes.lines if line.get_marker() in "oD"}
    assert set(dots) == {tuple(shares) for found in ROWS.values() for shares in found.values()}
    assert [round(dots[tuple(shares)]) for found in ROWS.values() for shares in found.values()] == [0, 0, 1, 1]
    assert [text.get_text() for text in axes.texts] == ["3% NSP", "2% SOP", "15% NSP", "95% SOP"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["next", "swapped"]
    assert [text.get_text() for text in drawn.texts] == ["how often?", "by kind"]
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in axes.lines]
    assert axes.get_xlim() == (0, 1)
    assert inside(drawn)
    _, metadata = drawn._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == "how often? next: NSP 3%, SOP 2%; swapped: NSP 15%, SOP 95%"


@pytest.mark.parametrize("name", ["to", "every word of A\nwith every word of B"])
def test_names_have_the_room_they_need_and_no_more(name):
    drawn = plots.share_dots({name: {"NSP": [0.5]}}, "how often?")
    label = drawn.axes[0].get_yticklabels()[0].get_window_extent()
    assert 0 < label.x0 / drawn.dpi < 0.5


def test_names_that_could_not_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="4 names were given"):
        plots.share_dots({"row": {name: [0.5] for name in "abcd"}}, "")
