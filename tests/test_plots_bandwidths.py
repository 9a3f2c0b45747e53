"""Step times over bandwidths: every line whole, on two logarithmic axes, and the crossing where it was said to be."""

import numpy as np
import pytest
from test_plots import inside

from minalbert import plots
from minalbert.errors import InputError

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")

BANDWIDTHS = np.geomspace(0.1, 1000, 9)
TIMES = {"large": 1 + 80 / BANDWIDTHS, "small": list(5 + 8 / BANDWIDTHS)}


def test_every_line_and_the_crossing_are_where_the_numbers_say():
    drawn = plots.bandwidth_curves(BANDWIDTHS, TIMES, {"equal": (18.0, 5.44)}, "a step\nof two models")
    (axes,) = drawn.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    *found, dot = [line for line in axes.lines if line.get_transform() == axes.transData]
    for line, times in zip(found, TIMES.values(), strict=True):
        assert line.get_xdata() == pytest.approx(BANDWIDTHS)
        assert line.get_ydata() == pytest.approx(np.asarray(times))
    assert (dot.get_xdata(), dot.get_ydata()) == ([18.0], [5.44])
    texts = {text.get_text() for text in axes.texts}
    assert {"large", "small", "equal", "of two models"} <= texts
    assert axes.get_title(loc="left") == "a step"
    assert inside(drawn)


def test_those_who_do_not_see_it_are_told():
    description = plots.bandwidth_curves(BANDWIDTHS, TIMES, {"equal": (18.0, 5.44)})._repr_mimebundle_()[1]
    alt = description["image/png"]["alt"]
    assert "over 0.1 to 1000 Gbit/s: large from 801 to 1.08, small from 85 to 5.01; equal at 18 Gbit/s" in alt


def test_times_that_are_too_few_are_refused():
    with pytest.raises(InputError, match="bandwidth_curves cannot draw this"):
        plots.bandwidth_curves(BANDWIDTHS, {"large": [1.0, 2.0]})
