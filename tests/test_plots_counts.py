"""Figures of counts: areas and lengths are to scale, and every name and number is said once."""

import pytest
from test_plots import inside

from minalbert import plots
from minalbert.errors import InputError
from minalbert.plots.treemap import squarified

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")

LARGE = {
    "embedding": {"words": 23_000_000, "positions": 390_000, "norm": 1500},
    "layers": {f"layer {i}": 7_000_000 for i in range(1, 13)},
    "heads": {"pooler": 590_000, "order": 1540, "nothing": 0},
}
SMALL = {"layers": {"attention": 2_400_000, "feed-forward": 4_700_000}, "embedding": {"words": 3_800_000}}


def boxes(drawn):
    """Those of the parameters: the squares beside the groups' names have no edge."""
    return [patch for patch in drawn.axes[0].patches if patch.get_linewidth()]


def spans(patch):
    x, y = patch.get_xy()
    return x, x + patch.get_width(), y, y + patch.get_height()


@pytest.mark.parametrize("models", [{"one": LARGE}, {"large": LARGE, "small": SMALL}], ids=["one", "two"])
def test_an_area_is_what_it_counts(models):
    drawn = plots.treemap(models)
    counts = [n for groups in models.values() for parts in groups.values() for n in parts.values() if n]
    areas = [patch.get_width() * patch.get_height() for patch in boxes(drawn)]
    assert len(areas) == len(counts)
    scale = sum(areas) / sum(counts)
    assert sorted(areas) == pytest.approx([scale * n for n in sorted(counts)], rel=1e-6)
    assert inside(drawn)


def test_boxes_do_not_lie_on_each_other():
    places = [spans(patch) for patch in boxes(plots.treemap({"large": LARGE, "small": SMALL}))]
    for i, (left, right, low, high) in enumerate(places):
        for its_left, its_right, its_low, its_high in places[:i]:
            assert min(right, its_right) - max(left, its_left) < 1e-9 or min(high, its_high) - max(low, its_low) < 1e-9


def test_every_name_and_count_is_said_once():
    drawn = plots.treemap({"large": LARGE})
    said = [text.get_text() for text in drawn.axes[0].texts]
    every = "\n".join(said).replace(",\n", ", ") + "\n"
    for parts in LARGE.values():
        for name, count in parts.items():
            where = every.count(f"{name}\n{count:,}\n") + every.count(f"{name} {count:,}")
            assert where == (1 if count else 0), name
    total = sum(sum(parts.values()) for parts in LARGE.values())
    assert f"{total:,}" in said
    for group, parts in LARGE.items():
        assert f"{group} {sum(parts.values()) / total:.1%}" in said


def test_a_name_stands_in_its_box():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = plots.treemap({"large": LARGE, "small": SMALL})
    renderer = FigureCanvasAgg(drawn).get_renderer()
    written = [text for text in drawn.axes[0].texts if text.get_color() == "black"]
    assert len(written) >= 16
    counts = {f"{name}\n{n:,}": n for groups in (LARGE, SMALL) for part in groups.values() for name, n in part.items()}
    scale = sum(patch.get_width() * patch.get_height() for patch in boxes(drawn))
    scale /= sum(n for groups in (LARGE, SMALL) for part in groups.values() for n in part.values())
    for text in written:
        box = text.get_window_extent(renderer)
        middle, area = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2), scale * counts[text.get_text()]
        (patch,) = [patch for patch in boxes(drawn) if patch.get_window_extent().contains(*middle)]
        assert patch.get_width() * patch.get_height() == pytest.approx(area), text
        around = patch.get_window_extent()
        assert around.x0 < box.x0 < box.x1 < around.x1, text
        assert around.y0 < box.y0 < box.y1 < around.y1, text


def test_a_group_has_one_colour_in_all_models():
    drawn = plots.treemap({"large": LARGE, "small": SMALL})
    colours = [patch.get_facecolor() for patch in boxes(drawn)]
    assert len(set(colours)) == 3
    words, layers = colours[12], colours[0]  # the largest group comes first
    assert colours.count(layers) == 12 + 2
    assert colours.count(words) == 3 + 1


def test_boxes_are_no_more_oblong_than_they_must():
    places = [box for _, box in squarified(dict(enumerate([6, 6, 4, 3, 2, 2, 1])), 0, 0, 6, 4)]
    assert places[:2] == [(0, 0, 3, 2), (0, 2, 3, 2)]  # the example of the algorithm's authors
    assert places[2] == pytest.approx((3, 0, 12 / 7, 7 / 3))
    assert places[3] == pytest.approx((3 + 12 / 7, 0, 9 / 7, 7 / 3))


def test_too_many_groups_are_a_sentence():
    with pytest.raises(InputError, match="6 groups were given"):
        plots.treemap({"model": {f"group {i}": {"w": 1} for i in range(6)}})


MEASURES = {
    "parameters": ("{:,.0f}", {"shared": 11_813_810, "not shared": 89_780_402}),
    "operations": ("{:.0f} million", {"shared": 570.41, "not shared": 570.42}),
}


def test_a_bar_is_as_long_as_its_number():
    drawn = plots.bars(MEASURES)
    (axes,) = drawn.axes
    lengths = [patch.get_width() for patch in axes.patches]
    assert len(lengths) == 4
    assert lengths[0] / lengths[1] == pytest.approx(11_813_810 / 89_780_402)
    assert lengths[1] == lengths[3] == pytest.approx(lengths[2], rel=1e-4)
    assert len({patch.get_xy()[0] for patch in axes.patches}) == 1
    tops = [patch.get_xy()[1] for patch in axes.patches]
    assert tops == sorted(tops)
    assert axes.patches[0].get_facecolor() == axes.patches[2].get_facecolor() != axes.patches[1].get_facecolor()
    assert inside(drawn)


def test_bars_say_their_numbers_and_what_is_the_same():
    texts = [text.get_text() for text in plots.bars(MEASURES).axes[0].texts]
    for said in ("parameters", "11,813,810", "89,780,402", "7.6 times", "operations", "the same"):
        assert texts.count(said) == 1, said
    for said in ("shared", "not shared", "570 million"):
        assert texts.count(said) == 2, said


def test_bars_of_nothing():
    texts = [text.get_text() for text in plots.bars({"dropped": ("{:.0f}", {"a": 0, "b": 0})}).axes[0].texts]
    assert texts.count("0") == 2
    assert "the same" in texts
