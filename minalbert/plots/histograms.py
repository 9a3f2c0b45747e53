"""Histograms of lengths, as `minalbert data stats` prints them."""

from .style import BLUE, FAINT, INK, drawing, figure


@drawing
def histograms(found, columns=2):
    """Histograms side by side. `found` is {name: histogram}, as minalbert.data.stats.histogram makes them."""
    rows = -(-len(found) // columns)
    drawn = figure(4.6 * min(columns, len(found)), 2.7 * rows, f"histograms of {', '.join(found)}")
    grid = drawn.subplots(rows, min(columns, len(found)), squeeze=False)
    drawn.subplots_adjust(wspace=0.3, hspace=0.8)
    for axes, (name, histogram) in zip(grid.ravel(), found.items(), strict=False):
        draw_histogram(axes, name, histogram)
    for axes in grid.ravel()[len(found) :]:
        axes.axis("off")
    return drawn


def draw_histogram(axes, name, histogram):
    starts, counts = histogram["starts"], histogram["counts"]
    total, places = max(1, sum(counts)), range(len(starts))
    bars = axes.bar(places, [100 * count / total for count in counts], width=0.86, color=BLUE)
    axes.bar_label(bars, [f"{100 * count / total:.0f}" for count in counts], color=INK, fontsize=8, padding=2)
    axes.set_title(name, color=INK, fontsize=11, fontweight="bold", loc="left", pad=22)
    axes.text(0, 1.06, f"mean {histogram['mean']:,.1f}, longest {histogram['largest']:,}; shares in %",
              color=INK, fontsize=8, transform=axes.transAxes)  # fmt: skip
    names = histogram["names"]
    slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names), default=0) > 5 else {}
    axes.set_xticks(places, names, color=INK, fontsize=7, **slanted)
    axes.margins(y=0.15)
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.set_facecolor("none")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
