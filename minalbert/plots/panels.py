"""Panels of lines over steps: a title, a few ticks, and a name at the end of each line."""

import numpy as np

from .style import INK

THIN = "#80808038"
LABEL = 8.5                                          # points


def panel(axes, title, subtitle=""):
    axes.set_title(title, color=INK, fontsize=10.5, fontweight="bold", loc="left", pad=17)
    axes.annotate(subtitle, (0, 1), (0, 6), "axes fraction", "offset points", color=INK, fontsize=8, va="bottom")
    axes.set_facecolor("none")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(THIN)
    axes.grid(axis="y", color=THIN, linewidth=0.5)
    axes.set_axisbelow(True)


def line(axes, steps, values, colour, width=1.6, alpha=1.0, dash="-", dots=False):
    """Draw a line through the finite values. Returns its end, or None if there are none."""
    there = np.isfinite(values)
    axes.plot(steps[there], values[there], dash, color=colour, linewidth=width, alpha=alpha, zorder=2 + alpha,
              marker="o" if dots else None, markersize=2.6, solid_capstyle="round", clip_on=not dots)  # fmt: skip
    return (steps[there][-1], values[there][-1]) if there.any() else None


def level(axes, y, text, below=False):
    """Draw a thin line to compare with, named at its right end."""
    axes.axhline(y, color=INK, linewidth=0.8, dashes=(4, 3), zorder=1)
    axes.annotate(text, (1, y), (0, -3 if below else 2.5), axes.get_yaxis_transform(), "offset points", color=INK,
                  fontsize=8, ha="right", va="top" if below else "bottom")  # fmt: skip


def mark(axes, step, value, colour, text, rises):
    """Mark a point of a line that rises or falls, and put the text beside the line."""
    axes.plot([step], [value], "o", color=colour, markersize=6, zorder=5, clip_on=False)
    late = step > 0.6 * axes.get_xlim()[1]
    offset = -8 if late else 8, (6 if late else -6) if rises else (-6 if late else 0)
    axes.annotate(text, (step, value), offset, textcoords="offset points", color=INK, fontsize=8,
                  ha="right" if late else "left", va="center")  # fmt: skip


def finish(axes, last, low=None, high=None, form="{:g}", log=False):
    """Set limits and ticks; `last` is the last step of all lines."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    wide, tall = (side / axes.figure.dpi for side in (axes.bbox.width, axes.bbox.height))
    axes.set_xlim(0, max(last, 1))
    ticks = MaxNLocator(3 if wide > 2 else 2, integer=True, steps=[1, 2, 5, 10]).tick_values(0, max(last, 1))
    ticks = [int(tick) for tick in ticks if 0 <= tick <= last]
    axes.set_xticks(ticks, [f"{tick:,}" + " steps" * (tick == ticks[-1]) for tick in ticks])
    if log:
        axes.set_yscale("log")
        bottom, top = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if top > 30 * bottom else (1, 2, 5), numticks=8))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(low, high)
        steps = [1, 2.5, 5, 10] if high == 1 else [1, 2, 5, 10]
        axes.yaxis.set_major_locator(MaxNLocator(5 if tall > 1.5 else 2, steps=steps))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form.format(value)))
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)


def name_ends(axes, ends):
    """Write the name of each line, given as (step, value, text, colour), near its end, so that names do not overlap."""
    if not ends:
        return
    points = axes.transData.transform([end[:2] for end in ends])
    x, y = axes.transAxes.inverted().transform(points).T
    gap = 1.25 * LABEL / 72 * axes.figure.dpi / axes.bbox.height
    puts = spread(y, gap)
    lead = 0.02 + 0.02 * (abs(puts - y).max() > 0.01)
    for (_, _, text, colour), left, at, put in zip(ends, x, y, puts, strict=True):
        if lead > 0.02:
            axes.plot([left + 0.008, 1.03], [at, put], color=colour, linewidth=0.6, clip_on=False,
                      transform=axes.transAxes)  # fmt: skip
        axes.annotate(text, (1 + lead, put), xycoords="axes fraction", color=colour, fontsize=LABEL, va="center",
                      annotation_clip=False)  # fmt: skip


def spread(wanted, gap):
    """Places at least `gap` apart, in the same order, as near to those wanted as can be (least squares)."""
    order = np.argsort(wanted, kind="stable")
    groups = []                                      # [mean, size]: neighbours that are as close as allowed
    for rank, place in enumerate(order):
        groups.append([wanted[place] - rank * gap, 1])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (a, m), (b, n) = groups[-2:]
            groups[-2:] = [[(m * a + n * b) / (m + n), m + n]]
    places = np.empty(len(order))
    places[order] = np.repeat([mean for mean, _ in groups], [size for _, size in groups]) + gap * np.arange(len(order))
    return places
