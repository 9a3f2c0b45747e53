"""The largest difference between the states of two models, layer by layer."""

import numpy as np

from ..errors import InputError
from .panels import line, name_ends, panel
from .style import INK, describe_lines, drawing, figure
from .training import BLUE, GREEN, ORANGE, PURPLE

LOOKS = (("-", BLUE), ("--", ORANGE), ("-", GREEN), ("--", PURPLE))
WIDTH, HEIGHT = 6.8, 3.2                             # inches
PLACE = (0.10, 0.15, 0.62, 0.61)


@drawing
def layer_differences(found, limit, title="where two models part"):
    """A line for each comparison, on a logarithmic scale, and the limit below which two states are equal.

    `found` is {name: differences}, each with a number for the first layer's input and for each layer's output. A
    difference of 0 is at the lower edge, and one that is not a number is a cross at the upper edge.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    if not 1 <= len(found) <= len(LOOKS):
        raise InputError(f"{len(found)} comparisons were given; from 1 to {len(LOOKS)} are distinguishable")
    found = {name: np.asarray(values, float) for name, values in found.items()}
    low, high = limits(found, limit)
    drawn = figure(WIDTH, HEIGHT, f"{title}, layer by layer: {describe_lines(found)}; the limit is {limit:g}")
    axes = drawn.add_axes(PLACE)
    panel(axes, title, "largest difference of the states, over sequences, tokens and their numbers")
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    last, ends = max(map(len, found.values())) - 1, []
    axes.set_xlim(-0.15 - 0.01 * last, last + 0.05)
    for (name, values), (dash, colour) in zip(found.items(), LOOKS, strict=False):
        places = np.arange(len(values))
        broken = ~np.isfinite(values)
        end = line(axes, places, np.where(broken, np.nan, np.maximum(values, low)), colour, dash=dash, dots=True)
        axes.plot(places[broken], np.full(broken.sum(), high), "x", color=colour, markersize=6, clip_on=False)
        if broken[-1:].any():
            end = places[-1], high
        ends += [(*end, name, colour)] if end else []
    axes.axhline(limit, color=INK, linewidth=0.8, dashes=(4, 3), zorder=1)
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_minor_locator(NullLocator())
    step = -(-last // 12) or 1
    axes.set_xticks(range(0, last + 1, step), ["enters", *map(str, range(step, last + 1, step))])
    axes.set_xlabel("what enters the first layer, and what leaves each", color=INK, fontsize=8, labelpad=3)
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
    name_ends(axes, [*ends, (last, limit, f"limit {limit:g}", INK)])
    return drawn


def limits(found, limit):
    """A tenth of the smallest value that is not 0, and ten times the largest."""
    values = np.concatenate([*found.values(), [limit]])
    values = values[np.isfinite(values) & (values > 0)]
    return values.min() / 10, values.max() * 10
