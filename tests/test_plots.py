"""Figures: everything that is to be seen is drawn, once, and inside the picture."""

import base64
import subprocess
import sys

import numpy as np
import pytest

from minalbert import plots
from minalbert.data.stats import histogram
from minalbert.data.strip import Cell, Strip
from minalbert.errors import FileError, MissingLibraryError
from minalbert.plots import style

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")


@pytest.fixture
def strip():
    cells = [
        Cell("[CLS]", "special"), Cell("baker", "A"), Cell("[MASK]", "A", kind="mask", label="walked", span=0),
        Cell("purple", "A", kind="random", label="well", span=0), Cell("[SEP]", "special"),
    ]  # fmt: skip
    more = [Cell("go", "B"), Cell("ing", "B", glued=True), Cell("on", "B", kind="kept", label="on", span=1)]
    return Strip("the title", ["a note"], [("A", cells), ("B", more)], [2, 1])


def inside(drawn):
    """Every text lies in the figure and on no other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(drawn).get_renderer()
    boxes = [(text, text.get_window_extent(renderer)) for axes in drawn.axes for text in axes.texts if text.get_text()]
    for i, (text, box) in enumerate(boxes):
        assert drawn.bbox.x0 <= box.x0 < box.x1 <= drawn.bbox.x1, text
        assert drawn.bbox.y0 <= box.y0 < box.y1 <= drawn.bbox.y1, text
        for other, its in boxes[:i]:
            wide = min(box.x1, its.x1) - max(box.x0, its.x0)
            high = min(box.y1, its.y1) - max(box.y0, its.y0)
            assert wide < 2 or high < 2, (text, other)  # pixels
    return True


@pytest.mark.parametrize("columns", [58, 70, 84])
def test_a_strip_has_each_token_and_each_label(strip, columns):
    from matplotlib.patches import Rectangle

    drawn = plots.instance_strip(strip, columns)
    (axes,) = drawn.axes
    texts = [text.get_text() for text in axes.texts]
    for said in [
        "the title",
        "a note",
        "A",
        "B",
        "[CLS]",
        "baker",
        "[MASK]",
        "walked",
        "purple",
        "≠well",
        "=on",
        "ing",
    ]:
        assert texts.count(said) == 1, said
    assert texts.count("2") == 1  # words of the span, however it is broken
    colours = [patch.get_facecolor()[:3] for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(set(colours)) == 3
    assert len(colours) == 3 + 3  # and the legend
    assert len(axes.lines) == 2 + 1 + 2  # two where a span begins, one where it goes on
    assert inside(drawn)


def test_only_what_is_there_is_in_the_legend(strip):
    plain = strip._replace(rows=[("A", strip.rows[0][1][:2])])
    drawn = plots.instance_strip(plain)
    assert not drawn.axes[0].patches
    assert [text.get_text() for text in drawn.axes[0].texts] == ["the title", "a note", "A", "[CLS]", "baker"]


def test_histograms_show_every_share():
    found = {
        "tokens": histogram(np.array([1, 1, 2, 4])),
        "sentences": histogram(np.arange(500)),
        "nothing": histogram(np.array([], np.int64)),
    }
    drawn = plots.histograms(found)
    for axes, (name, values) in zip(drawn.axes, found.items(), strict=False):
        assert axes.get_title(loc="left") == name
        assert len(axes.patches) == len(values["counts"])
        heights = [patch.get_height() for patch in axes.patches]
        assert heights == pytest.approx([100 * count / max(1, sum(values["counts"])) for count in values["counts"]])
        assert [label.get_text() for label in axes.get_xticklabels()] == values["names"]
        assert f"longest {values['largest']}" in axes.texts[-1].get_text()
    assert not drawn.axes[3].axison
    assert inside(drawn)


def test_the_background_is_clear_and_the_ink_is_grey(strip):
    drawn = plots.instance_strip(strip)
    assert drawn.get_facecolor()[3] == 0
    for colour in (style.INK, *style.TEXT.values()):
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        luminance = np.dot(light, (0.2126, 0.7152, 0.0722))
        assert 1.05 / (luminance + 0.05) > 3  # on white
        assert (luminance + 0.05) / 0.05 > 3  # on black


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_saved(strip, tmp_path, ending):
    plots.save(plots.instance_strip(strip), tmp_path / f"strip.{ending}")
    assert (tmp_path / f"strip.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("name", ["no/such.png", "strip.nonsense"])
def test_what_cannot_be_saved_is_one_sentence(strip, tmp_path, name):
    with pytest.raises(FileError, match=r"could not be written|ends in \.png") as error:
        plots.save(plots.instance_strip(strip), tmp_path / name)
    assert "Errno" not in str(error.value)


def test_without_matplotlib_there_is_a_sentence(strip, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'minalbert\[notebooks\]'"):
        plots.instance_strip(strip)


def test_importing_it_imports_no_matplotlib():
    script = "import sys, minalbert.plots; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.strip() == "False"


def test_a_figure_says_what_it_shows_to_those_who_do_not_see_it():
    data, metadata = plots.bars({"weights": ("{:.1f} MB", {"shared": 47.3, "unshared": 359})})._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == "bars, weights: shared 47.3 MB, unshared 359.0 MB"
    assert data["text/plain"] == "Figure: bars, weights: shared 47.3 MB, unshared 359.0 MB"
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    lines = {"loss": [np.nan, 7.5, 3.25, np.inf], "none": [np.nan], "rate": [0, 2, -1, 0.5]}
    told = "loss from 7.5 to 3.25, none nowhere, rate from 0 to 0.5, at least -1, at most 2"
    assert style.describe_lines(lines) == told
