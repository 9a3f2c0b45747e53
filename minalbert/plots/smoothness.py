"""The paper's figure 1: the distance and the angle between each layer's input and output."""

import numpy as np

from ..errors import InputError
from .panels import THIN, line, name_ends, panel
from .style import INK, ORANGE, describe_lines, drawing, figure
from .training import BLUE, GREEN, PURPLE

LOOKS = (("-", BLUE), ("--", ORANGE), ("-", GREEN), ("--", PURPLE))
WIDTH, HEIGHT = 8.6, 3.1                             # inches
LEFT, WIDE, APART, LOW, TALL = 0.45, 2.85, 4.25, 0.5, 1.95


@drawing
def smoothness_curves(found, title=""):
    """Two panels over the layers, a line for each name.

    `found` is {"shared": (distances, angles), ...}, each with a number for every layer, as
    minalbert.analysis.smoothness.smoothness(states) returns them; the angles are in degrees.
    """
    if not 1 <= len(found) <= len(LOOKS):
        raise InputError(f"{len(found)} models were given; from 1 to {len(LOOKS)} are distinguishable")
    measured = zip(("distance", "angle"), zip(*found.values(), strict=True), strict=True)
    description = [f"{what} over the layers: {describe_lines(dict(zip(found, values, strict=True)))}"
                   for what, values in measured]  # fmt: skip
    drawn = figure(WIDTH, HEIGHT, "; ".join(filter(None, [title, *description])))
    drawn.text(LEFT / WIDTH, 1 - 0.14 / HEIGHT, title, color=INK, fontsize=11.5, fontweight="bold", va="center")
    panels = (("distance", "‖y - x‖ of what enters a layer, x, and what leaves it, y", "{:g}"),
              ("angle", "between x and y", "{:g}°"))  # fmt: skip
    for i, (name, subtitle, form) in enumerate(panels):
        axes = drawn.add_axes(((LEFT + i * APART) / WIDTH, LOW / HEIGHT, WIDE / WIDTH, TALL / HEIGHT))
        panel(axes, name, subtitle)
        draw_lines(axes, {label: np.asarray(values[i], float) for label, values in found.items()}, form)
    return drawn


def draw_lines(axes, found, form):
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ends, last = [], max(map(len, found.values()))
    for (label, values), (dash, colour) in zip(found.items(), LOOKS, strict=False):
        end = line(axes, np.arange(1, len(values) + 1), values, colour, dash=dash, dots=True)
        ends += [(*end, label, colour)] if end else []
    axes.set_xlim(0.6, last + 0.2)
    high = max(np.nanmax(values, initial=0) for values in found.values())
    axes.set_ylim(-0.02 * high, 1.08 * high or 1)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form.format(value)))
    layer_ticks(axes, range(1, last + 1), [f"{number}" for number in range(1, last + 1)])
    name_ends(axes, ends)


def layer_ticks(axes, places, names, most=13):
    """Draw as many ticks as there is room for, the first and the last among them."""
    step = -(-(len(places) - 1) // (most - 1)) or 1
    places, names = list(places)[::-step][::-1], list(names)[::-step][::-1]
    axes.set_xticks(places, names)
    axes.set_xlabel("layer", color=INK, fontsize=8, labelpad=3)
    axes.axhline(0, color=THIN, linewidth=0.8, zorder=1)
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
