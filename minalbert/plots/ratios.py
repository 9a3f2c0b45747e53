"""Numbers of many tensors over the steps, each line named at its end: trust ratios, relative changes, rates."""

import numpy as np

from .panels import finish, line, name_ends, panel
from .style import INK, describe_lines, drawing, figure, one_line
from .training import BLUE, FAMILIES, GREEN, ORANGE, PURPLE, without_layer

WIDTH, LEFT, RIGHT = 8.0, 0.6, 1.75                  # inches: of the figure, left of a panel, and right of it
TITLE, TALL, TICKS = 0.55, 2.4, 0.4                  # above a panel, of a panel, below it
OTHERS = (BLUE, ORANGE, GREEN, PURPLE)               # of lines that are no tensors of the model


@drawing
def ratio_curves(panels, steps=None, log=True, form="{:g}"):
    """Panels below each other, on one scale, each line named at its end.

    `panels` is {title: {name: values over steps}}; a title's second line is small. `steps` are the steps of the
    values, which count from 0 if none are given. On a logarithmic scale, values that are not positive are left out.
    """
    height = len(panels) * (TITLE + TALL + TICKS)
    description = "; ".join(f"{one_line(title)}: {describe_lines(some)}" for title, some in panels.items())
    drawn = figure(WIDTH, height, description)
    low, high = limits([values for found in panels.values() for values in found.values()], log)
    y = height
    for title, found in panels.items():
        y -= TITLE + TALL
        axes = drawn.add_axes((LEFT / WIDTH, y / height, (WIDTH - LEFT - RIGHT) / WIDTH, TALL / height))
        draw_lines(axes, title, found, steps, (low, high), log, form)
        y -= TICKS
    return drawn


def limits(values, log):
    """The limits of all panels: a margin around all values; a scale that is not logarithmic begins at 0."""
    every = np.concatenate([np.asarray(some, float) for some in values])
    every = every[np.isfinite(every) & ((every > 0) | (not log))]
    if not every.size:
        return None, None
    low, high = every.min(), every.max()
    return (low / 1.25, high * 1.25) if log else (min(0.0, 1.05 * low), 1.05 * high)


def draw_lines(axes, title, found, steps, ends, log, form):
    head, _, small = title.partition("\n")
    panel(axes, head, small)
    last, named = 0, []
    for i, (name, values) in enumerate(found.items()):
        values = np.asarray(values, float)
        places = np.arange(len(values)) if steps is None else np.asarray(steps)
        last = max(last, places[-1])
        colour = next((colour for part, colour in FAMILIES.items() if part in name), None)
        colour = colour or (OTHERS[i] if len(found) <= len(OTHERS) else INK)
        end = line(axes, places, np.where(values > 0, values, np.nan) if log else values, colour, width=1.2)
        if end:
            named.append((*end, without_layer(name), colour))
    axes.set_ylim(*ends)
    finish(axes, last, *ends, form=form, log=log)
    if axes.get_xticks()[-1] > 0.9 * last:           # its label would run into the names
        axes.get_xticklabels()[-1].set_horizontalalignment("right")
    name_ends(axes, named)
