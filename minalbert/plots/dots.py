"""Shares in rows: a row for each question, a dot for each run's answer."""

import numpy as np

from ..errors import InputError
from .panels import LABEL, THIN
from .style import GREEN, INK, ORANGE, TEXT, drawing, figure

LETTER, LEFT, WIDE, ROW, NAME, BETWEEN, HEAD, FOOT = 0.07, 0.2, 2.6, 0.3, 0.13, 0.18, 0.5, 0.35   # inches
LOOKS = ((TEXT["A"], "o"), (ORANGE, "D"), (GREEN, "s"))


@drawing
def share_dots(rows, title, level=None):
    """`rows` is {row: {name: shares}}, from 0 to 1. Each share is a dot; their mean is beside them in per cent.

    A row's name is above its dots, so that a phone shows the whole figure. A title's second line is small. `level` is
    the place of a thin line, such as 0.5 for guessing.
    """
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    if not 1 <= len(names) <= len(LOOKS):
        raise InputError(f"{len(names)} names were given; from 1 to {len(LOOKS)} are distinguishable")
    looks = dict(zip(names, LOOKS, strict=False))
    row_height = ROW + BETWEEN * len(names)
    width = LEFT + WIDE + 0.15 + LETTER * max(len(f"100% {name}") for name in names)
    height = HEAD + row_height * len(rows) + FOOT
    description = "; ".join(
        f"{' '.join(row.split())}: " + ", ".join(f"{name} {np.mean(shares):.0%}" for name, shares in found.items())
        for row, found in rows.items()
    )
    drawn = figure(width, height, f"{title.splitlines()[0]} {description}")
    axes = drawn.add_axes((LEFT / width, FOOT / height, WIDE / width, row_height * len(rows) / height),
                          xlim=(0, 1), ylim=(row_height * len(rows), 0), facecolor="none")  # fmt: skip
    frame(axes)
    for place, (row, found) in enumerate(rows.items()):
        top = place * row_height
        axes.text(0, top + NAME, " ".join(row.split()), color=INK, fontsize=LABEL, va="center")
        if level is not None:
            axes.plot([level, level], [top + NAME + 0.1, top + row_height], color=INK, linewidth=0.8, dashes=(4, 3))
        for number, (name, shares) in enumerate(found.items()):
            colour, marker = looks[name]
            y = top + ROW + BETWEEN * (number + 0.2)
            axes.hlines(y, 0, 1, color=THIN, linewidth=4, zorder=1)
            axes.plot(shares, [y] * len(shares), marker, color=colour, markersize=6.5, alpha=0.75,
                      markeredgewidth=0, clip_on=False)  # fmt: skip
            axes.text(1.05, y, f"{np.mean(shares):.0%} {name}", color=colour, fontsize=LABEL, va="center")
    for line, down, style in zip(title.split("\n"), (0.16, 0.38), ({"fontsize": 10.5, "fontweight": "bold"},
                                                                   {"fontsize": 8.5}), strict=False):  # fmt: skip
        drawn.text(0.1 / width, 1 - down / height, line, color=INK, va="center", **style)
    return drawn


def frame(axes):
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_yticks([])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(length=0, pad=6, labelsize=LABEL, labelcolor=INK)
    axes.grid(axis="x", color=THIN, linewidth=0.5)
    axes.set_axisbelow(True)
