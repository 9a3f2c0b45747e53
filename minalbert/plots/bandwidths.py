"""The time of a step against the bandwidth between machines. Each line is named at its end; a dot marks a crossing."""

import numpy as np

from .functions import styles
from .panels import line, name_ends, panel
from .style import INK, describe_lines, drawing, figure, one_line

WIDTH, HEIGHT = 8.0, 4.0                             # inches
LEFT, BELOW, WIDE, TALL = 0.08, 0.13, 0.72, 0.70     # shares of the figure


@drawing
def bandwidth_curves(bandwidths, seconds, crossings=None, title="the time of a step"):
    """Two logarithmic axes. `seconds` is {name: a time for each bandwidth}; bandwidths are in Gbit/s.

    `crossings` is {text: (bandwidth, seconds)}: a dot, and what stands beside it. A title's second line is small.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    crossings = crossings or {}
    bandwidths = np.asarray(bandwidths, float)
    places = "".join(f"; {text} at {x:.3g} Gbit/s" for text, (x, _) in crossings.items())
    drawn = figure(WIDTH, HEIGHT, f"{one_line(title)}, over {bandwidths[0]:g} to {bandwidths[-1]:g} Gbit/s: "
                                  f"{describe_lines(seconds)}{places}")  # fmt: skip
    axes = drawn.add_axes((LEFT, BELOW, WIDE, TALL))
    panel(axes, *title.split("\n", 1))
    axes.set(xscale="log", yscale="log", xlim=(bandwidths.min(), bandwidths.max()))
    ends = []
    for (name, times), (_, colour) in zip(seconds.items(), styles(len(seconds)), strict=True):
        ends.append((*line(axes, bandwidths, np.asarray(times, float), colour), name, colour))
    for text, (x, y) in crossings.items():
        axes.plot([x], [y], "o", color=INK, markersize=5, zorder=5)
        axes.annotate(text, (x, y), (8, 8), textcoords="offset points", color=INK, fontsize=8.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
    axes.annotate("Gbit/s that each machine sends", (0.5, 0), (0, -22), "axes fraction", "offset points",
                  color=INK, fontsize=8, ha="center", va="top")  # fmt: skip
    axes.set_ylim(axes.get_ylim())                   # fixed, before the names are placed
    name_ends(axes, ends)
    return drawn
