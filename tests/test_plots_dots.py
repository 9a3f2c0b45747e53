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
    texts = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert list(texts) == ["next", "3% NSP", "2% SOP", "swapped", "15% NSP", "95% SOP"]
    assert list(texts.values()) == sorted(set(texts.values()))
    means = [height for text, height in texts.items() if "%" in text]
    assert [dots[tuple(shares)] for found in ROWS.values() for shares in found.values()] == means
    assert [text.get_text() for text in drawn.texts] == ["how often?", "by kind"]
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in axes.lines]
    assert axes.get_xlim() == (0, 1)
    assert inside(drawn)
    _, metadata = drawn._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == "how often? next: NSP 3%, SOP 2%; swapped: NSP 15%, SOP 95%"


def test_a_phone_of_390_pixels_shows_the_whole_figure():
    """A page's margins leave 358; figures are shown there with 88 pixels an inch."""
    rows = {"every word of A\nwith every word of B": {"released": [0.5], "planted": [1.0]}}
    drawn = plots.share_dots(rows, "How often is a second part called wrong?", level=0.5)
    assert inside(drawn)
    assert (drawn.get_figwidth() + 0.2) * 88 <= 358
    assert drawn.axes[0].texts[0].get_text() == "every word of A with every word of B"


def test_names_that_could_not_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="4 names were given"):
        plots.share_dots({"row": {name: [0.5] for name in "abcd"}}, "")
