"""The loss against the learning rate, as measured by `minalbert find-rate`, and averaged."""

from .panels import line, panel
from .style import INK, ORANGE, describe_lines, drawing, figure
from .training import BLUE, LIGHT


@drawing
def rate_curve(found, optimiser=""):
    """The loss against the rate. `found` is the result of minalbert.train.find_rate(settings)."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    drawn = figure(6.4, 3.6, f"loss against learning rate, {describe_lines({'averaged': found.means})}")
    axes = drawn.add_axes((0.08, 0.14, 0.87, 0.68))
    panel(axes, "which learning rate?", f"MLM + SOP loss of a batch while the rate rises, {optimiser}; dark: averaged")
    low, first = found.means.min(), found.means[0]
    line(axes, found.rates, found.losses, BLUE, alpha=LIGHT)
    line(axes, found.middles, found.means, BLUE)
    axes.set_xscale("log")
    axes.set_ylim(low - 0.25 * (first - low) - 0.05 * low, first + 0.5 * (first - low) + 0.05 * low)
    lowest = found.middles[found.lowest]
    axes.plot([lowest], [low], "o", color=INK, markersize=5, zorder=5)
    axes.annotate("lowest", (lowest, low), (0, -9), textcoords="offset points", color=INK, fontsize=8, ha="center",
                  va="top")  # fmt: skip
    if found.suggestion:
        axes.axvline(found.suggestion, color=ORANGE, linewidth=1.2, dashes=(4, 3))
        place = axes.get_xaxis_transform()
        axes.annotate(f"suggested: {found.suggestion:g} ", (found.suggestion, 0.03), xycoords=place, color=ORANGE,
                      fontsize=8.5, ha="right", va="bottom")  # fmt: skip
    axes.xaxis.set_major_locator(LogLocator(numticks=8))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
    return drawn
