"""A paper's numbers and ours in one frame: each where it belongs."""

import math

import pytest
from test_plots import inside

from minalbert import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")
ROWS = ["none", "NSP"]
PANELS = [
    {"title": "order", "paper": {"none": 0.533, "NSP": 0.52}, "ours": {"NSP": ([0.5, 0.52, 0.51], 0.49, 0.53)},
     "form": "{:.0%}"},
    {"title": "loss", "paper": {}, "ours": {"none": ([1.2], -math.inf, math.inf), "NSP": ([1.0, 1.1], 0.4, 1.7)},
     "form": "{:.1f}", "reverse": True},
]  # fmt: skip


def marks(axes, marker):
    return {tuple(line.get_xdata()): line.get_ydata()[0] for line in axes.lines if line.get_marker() == marker}


def test_numbers_are_in_their_rows_and_the_better_is_to_the_right():
    drawn = plots.compared(ROWS, PANELS, "Table 5")
    both, ours = drawn.axes
    assert {x: round(y) for x, y in marks(both, "D").items()} == {(0.533,): 0, (0.52,): 1}
    assert {x: round(y) for x, y in marks(both, "o").items()} == {(0.5, 0.52, 0.51): 1}
    assert {x: round(y) for x, y in marks(ours, "o").items()} == {(1.2,): 0, (1.0, 1.1): 1}
    intervals = [tuple(line.get_xdata()) for line in ours.lines if line.get_linestyle() == "-"]
    assert intervals == [(0.4, 1.7)]  # one seed has none
    assert [label.get_text() for label in both.get_yticklabels()] == ROWS
    assert not both.xaxis_inverted()
    assert ours.xaxis_inverted()
    assert inside(drawn)


def test_the_legend_names_the_paper_where_a_panel_has_it():
    def legend(*panels):
        return [
            text.get_text()[2:] for text in plots.compared(ROWS, panels, "Table 5").texts if text.get_text()[0] in "◆●"
        ]

    ours = "ours: each seed, 95 % interval of the mean"
    assert legend(*PANELS) == ["the paper", ours]
    assert legend(PANELS[1]) == [ours]
    assert legend(PANELS[0] | {"ours": {"NSP": ([0.5], 0.5, 0.5)}}) == ["the paper", "ours"]


@pytest.mark.parametrize("name", ["E", "wide, shared, seconds of the narrow"])
def test_names_of_rows_lie_in_the_figure(name):
    """What sticks out widens the picture, and moves its title and legend to the right."""
    panel = {"title": "loss", "paper": {}, "ours": {name: ([1.0], 0.9, 1.1)}, "form": "{:.1f}"}
    drawn = plots.compared([name], [panel], "Table 6")
    assert drawn.axes[0].get_yticklabels()[0].get_window_extent().x0 > 0


def test_a_phone_shows_the_whole_legend():
    drawn = plots.compared(ROWS, PANELS, "Table 5")
    assert (max(text.get_window_extent().x1 for text in drawn.texts) / drawn.dpi + 0.1) * 88 <= 358


def test_the_figure_in_words_has_both_numbers():
    _, metadata = plots.compared(ROWS, PANELS, "Table 5")._repr_mimebundle_()
    assert metadata["image/png"]["alt"] == (
        "Table 5. order: none the paper 53%; NSP the paper 52%, ours 51%. loss: none ours 1.2; NSP ours 1.1"
    )
