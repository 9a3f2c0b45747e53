"""Shares in rows: a row for each question, a dot for each run's answer."""

import numpy as np

from ..errors import InputError
from .panels import LABEL, THIN
from .style import GREEN, INK, ORANGE, TEXT, drawing, figure

LETTER, WIDE, MEANS, ROW, HEAD, FOOT = 0.07, 4.2, 0.9, 0.62, 0.62, 0.4     # inches
LOOKS = ((TEXT["A"], "o"), (ORANGE, "D"), (GREEN, "s"))


@drawing
def share_dots(rows, title, level=None):
    """`rows` is {row: {name: shares}}, from 0 to 1. Each share is a dot; their mean is beside them in per cent.

    A title's second line is small. `level` is the place of a thin line, such as 0.5 for guessing.
    """
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    if not 1 <= len(names) <= len(LOOKS):
        raise InputError(f"{len(names)} names were given; from 1 to {len(LOOKS)} are distinguishable")
    looks = dict(zip(names, LOOKS, strict=False))
    left = 0.3 + LETTER * max(len(line) for row in rows for line in row.split("\n"))
    width, height = left + WIDE + MEANS, HEAD + ROW * len(rows) + FOOT
    description = "; ".join(
        f"{' '.join(row.split())}: " + ", ".join(f"{name} {np.mean(shares):.0%}" for name, shares in found.items())
        for row, found in rows.items()
    )
    drawn = figure(width, height, f"{title.splitlines()[0]} {description}")
    axes = drawn.add_axes((left / width, FOOT / height, WIDE / width, ROW * len(rows) / height),
                          xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5), facecolor="none")  # fmt: skip
    frame(axes, rows, level)
    for place, found in enumerate(rows.values()):
        for number, (name, shares) in enumerate(found.items()):
            colour, marker = looks[name]
            y = place + 0.3 * (number - (len(found) - 1) / 2)
            axes.plot(shares, [y] * len(shares), marker, color=colour, markersize=6.5, alpha=0.75,
                      markeredgewidth=0, clip_on=False)  # fmt: skip
            axes.text(1.03, y, f"{np.mean(shares):.0%} {name}", color=colour, fontsize=LABEL, va="center")
    for line, down, style in zip(title.split("\n"), (0.16, 0.38), ({"fontsize": 10.5, "fontweight": "bold"},
                                                                   {"fontsize": 8.5}), strict=False):  # fmt: skip
        drawn.text(0.1 / width, 1 - down / height, line, color=INK, va="center", **style)
    return drawn


def frame(axes, rows, level):
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(length=0, pad=6, labelsize=LABEL, labelcolor=INK)
    axes.grid(axis="x", color=THIN, linewidth=0.5)
    axes.hlines(range(len(rows)), 0, 1, color=THIN, linewidth=6)
    axes.set_axisbelow(True)
    if level is not None:
        axes.axvline(level, color=INK, linewidth=0.8, dashes=(4, 3))
