"""Figures of functions: curves side by side, errors against a step, and a vector at several stages.

    curves(x, {"GELU": {"tanh form": y, "erf form": z}})
"""

import numpy as np

from ..errors import InputError
from .panels import THIN, line, name_ends, panel
from .style import FAINT, GREEN, INK, ORANGE, TEXT, describe_lines, drawing, figure, one_line

COLOURS = (TEXT["A"], ORANGE, GREEN, "#BD6297", INK)
WIDE, TALL, HEAD, FOOT, LEFT, BELOW = 2.9, 2.2, 0.55, 0.35, 0.5, 0.25   # inches
LETTER = 0.075                                       # inches: a letter of a name, at most
BARS, TALLEST, LEAST, GAP = 4.2, 1.3, 0.35, 0.22     # of stages: width, the tallest and the least tall, between them
BAND = "#80808026"


@drawing
def curves(x, panels):
    """Panels side by side over the same x. `panels` is {title: {name: y}}; what follows "\\n" in a title is small.

    If a y is not finite, its line has a gap. The last line is dashed, so that lines beneath it are seen.
    """
    x = np.asarray(x, float)
    rooms = [LEFT + WIDE + 0.15 + LETTER * max(map(len, lines)) for lines in panels.values()]
    width, height = sum(rooms), HEAD + TALL + FOOT
    description = "; ".join(f"{one_line(title)}: {describe_lines(lines)}" for title, lines in panels.items())
    drawn = figure(width, height, f"curves over {x[0]:g} to {x[-1]:g}. {description}")
    left = LEFT
    for room, (title, lines) in zip(rooms, panels.items(), strict=True):
        axes = drawn.add_axes((left / width, FOOT / height, WIDE / width, TALL / height))
        panel(axes, *title.split("\n", 1))
        axes.axvline(0, color=THIN, linewidth=0.5)
        ends = []
        for (name, y), (dash, colour) in zip(lines.items(), styles(len(lines)), strict=True):
            end = line(axes, x, np.asarray(y, float), colour, dash=dash)
            ends += [(*end, name, colour)] if end else []
        axes.set_xlim(x.min(), x.max())
        limits(axes)
        name_ends(axes, ends)
        left += room
    return drawn


def styles(lines):
    """A (dash, colour) for each line."""
    if lines > len(COLOURS):
        raise InputError(f"{lines} lines were given; up to {len(COLOURS)} are distinguishable")
    return [("--" if i and i == lines - 1 else "-", COLOURS[i]) for i in range(lines)]


def limits(axes):
    """Leave a margin above and below, and put ticks at round numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = axes.dataLim.y0, axes.dataLim.y1
    margin = 0.04 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}".replace("-", "\N{MINUS SIGN}")))
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)


@drawing
def error_curves(h, errors, title="error over the step"):
    """Errors against the step h, on logarithmic axes. `errors` is {name: an error for each h}; h falls to the right.

    A line that rises again has a dot at its minimum. An error of zero, which has no logarithm, leaves a gap. The last
    line is dashed, so that lines beneath it are seen.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    order = np.argsort(h)[::-1]
    h = np.asarray(h, float)[order]
    errors = {name: np.asarray(error, float)[order] for name, error in errors.items()}
    names, dots = {}, {}
    for name, error in errors.items():
        errors[name] = error = np.where(error > 0, error, np.nan)
        there = error[np.isfinite(error)]
        if there.size and there[-1] > 100 * there.min():
            dots[name] = h[np.nanargmin(error)], there.min()
        names[name] = f"{name}, least at h = {dots[name][0]:.0e}" if name in dots else name
    wide, tall = 4.6, 3.1
    width = LEFT + wide + 0.25 + LETTER * max(map(len, names.values()))
    height = HEAD + tall + FOOT + BELOW
    described = ", ".join(f"{name} {describe_error(error)}" for name, error in errors.items())
    steps = f"while h shrinks from {h.max():.0e} to {h.min():.0e}"
    drawn = figure(width, height, f"{one_line(title)}, {steps}: {described}")
    axes = drawn.add_axes((LEFT / width, (FOOT + BELOW) / height, wide / width, tall / height))
    panel(axes, *title.split("\n", 1))
    axes.set(xscale="log", yscale="log", xlim=(h.max(), h.min()))
    ends = []
    for (name, error), (dash, colour) in zip(errors.items(), styles(len(errors)), strict=True):
        end = line(axes, h, error, colour, dash=dash)
        ends += [(*end, names[name], colour)] if end else []
        if name in dots:
            axes.plot(*dots[name], "o", color=colour, markersize=5, zorder=5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_minor_locator(NullLocator())
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
    axes.annotate("step h, ever smaller", (0.5, 0), (0, -22), "axes fraction", "offset points", color=INK, fontsize=8,
                  ha="center", va="top")  # fmt: skip
    axes.set_ylim(axes.get_ylim())                   # fixed, before the names are placed
    name_ends(axes, ends)
    return drawn


def describe_error(error):
    """Where a line begins, its least, and where it ends. Its peaks are rounding, other on each machine."""
    error = error[np.isfinite(error)]
    if not error.size:
        return "nowhere"
    first, least, last = error[0], error.min(), error[-1]
    return f"from {first:.3g} down to {least:.0e}" + (f", and up to {last:.3g}" if last > 100 * least else "")


@drawing
def stages(vectors, title="one vector"):
    """The numbers of a vector as bars, with a row for each stage of a computation. `vectors` is {stage: (H,)}.

    All rows have one scale. Behind the bars: the mean, a dashed line, and a band, the deviation on each side of it.
    """
    vectors = {name: np.asarray(vector, float) for name, vector in vectors.items()}
    means, deviations = ({name: measure(v) for name, v in vectors.items()} for measure in (np.mean, np.std))
    lows = {name: min(0, v.min(), means[name] - deviations[name]) for name, v in vectors.items()}
    highs = {name: max(0, v.max(), means[name] + deviations[name]) for name, v in vectors.items()}
    scale = TALLEST / (max(highs[name] - lows[name] for name in vectors) or 1.0)       # inches for 1
    talls = {name: max(scale * (highs[name] - lows[name]), LEAST) for name in vectors}
    left = 0.2 + LETTER * max(map(len, vectors))
    width, y = left + BARS + 1.2, sum(talls.values()) + GAP * len(talls) + 0.1
    height = y + 0.3
    description = ", ".join(f"{name} (mean {means[name]:.2g}, deviation {deviations[name]:.2g})" for name in vectors)
    drawn = figure(width, height, f"{title}: {description}")
    drawn.text(0.1 / width, 1 - 0.2 / height, title, color=INK, fontsize=10.5, fontweight="bold", va="center")
    for name, vector in vectors.items():
        y -= talls[name] + GAP
        axes = drawn.add_axes((left / width, y / height, BARS / width, talls[name] / height))
        axes.set(xlim=(-0.7, len(vector) - 0.3), ylim=(lows[name], lows[name] + talls[name] / scale))
        axes.axis("off")
        axes.axhspan(means[name] - deviations[name], means[name] + deviations[name], color=BAND, linewidth=0)
        axes.axhline(0, color=FAINT, linewidth=0.8)
        axes.axhline(means[name], color=INK, linewidth=0.9, dashes=(4, 3))
        axes.bar(np.arange(len(vector)), vector, 0.6, color=TEXT["A"], zorder=2)
        style = {"xycoords": "axes fraction", "fontsize": 8.5, "va": "center", "color": INK}
        axes.annotate(name, (-0.015, 0.5), ha="right", **style)
        text = f"mean {means[name] + 0.0:.1f}\ndeviation {deviations[name]:.1f}".replace("-0.0", "0.0")
        axes.annotate(text.replace("-", "\N{MINUS SIGN}"), (1.015, 0.5), **style)
    return drawn
