"""A claim and what came of it: the numbers of a paper beside those of runs, row by row in the same frame."""

import math

from .panels import LABEL, THIN
from .style import INK, ORANGE, TEXT, drawing, figure

NAMES, LETTER, PANEL, GAP, EDGE, ROW, HEAD, FOOT = 1.5, 0.065, 2.35, 0.3, 0.25, 0.34, 0.62, 0.62   # inches


@drawing
def compared(rows, panels, title):
    """A panel for each measure, and in it a line for each row.

    rows     names
    panels   a dict each: "title"; "paper", {row: number}; "ours", {row: (numbers, low, high)}, which are dots, and
             their interval; "form", such as "{:.0%}"; "reverse", if less is better: then less is to the right
    """
    names = max(NAMES, 0.2 + LETTER * max(map(len, rows)))
    width = names + len(panels) * (PANEL + GAP) - GAP + EDGE
    height = HEAD + ROW * len(rows) + FOOT
    drawn = figure(width, height, described(rows, panels, title))
    for number, panel in enumerate(panels):
        left = names + number * (PANEL + GAP)
        axes = drawn.add_axes((left / width, FOOT / height, PANEL / width, ROW * len(rows) / height),
                              ylim=(len(rows) - 0.5, -0.5), facecolor="none")  # fmt: skip
        draw(axes, rows, panel)
        frame(axes, rows if number == 0 else [""] * len(rows), panel)
    drawn.text(0.1 / width, 1 - 0.16 / height, title, color=INK, va="center", fontsize=10.5, fontweight="bold")
    of_paper = any(panel["paper"] for panel in panels)
    if of_paper:
        drawn.text(0.1 / width, 0.13 / height, "◆ the paper", color=ORANGE, va="center", fontsize=LABEL)
    seeds = any(len(numbers) > 1 for panel in panels for numbers, *_ in panel["ours"].values())
    ours = "● ours: each seed, 95 % interval of the mean" if seeds else "● ours"
    drawn.text((1.1 if of_paper else 0.1) / width, 0.13 / height, ours, color=TEXT["A"], va="center", fontsize=LABEL)
    return drawn


def draw(axes, rows, panel):
    axes.hlines(range(len(rows)), 0, 1, color=THIN, linewidth=4, transform=axes.get_yaxis_transform())
    for place, row in enumerate(rows):
        both = row in panel["paper"] and row in panel["ours"]
        if row in panel["paper"]:
            axes.plot([panel["paper"][row]], [place - 0.16 * both], "D", color=ORANGE, markersize=6, clip_on=False)
        if row in panel["ours"]:
            numbers, low, high = panel["ours"][row]
            y = place + 0.16 * both
            if math.isfinite(low) and math.isfinite(high):
                axes.plot([low, high], [y, y], "-", color=TEXT["A"], linewidth=1.6, solid_capstyle="butt")
            axes.plot(numbers, [y] * len(numbers), "o", color=TEXT["A"], markersize=4.5, alpha=0.7,
                      markeredgewidth=0, clip_on=False)  # fmt: skip


def frame(axes, names, panel):
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0, pad=6, labelsize=LABEL, labelcolor=INK)
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: panel["form"].format(value))
    axes.grid(axis="x", color=THIN, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.margins(x=0.08)
    if panel.get("reverse"):
        axes.invert_xaxis()
    axes.set_title(panel["title"], fontsize=8.5, color=INK, loc="left", pad=5)


def described(rows, panels, title):
    """The figure in words, for those who do not see it."""
    return f"{title}. {'. '.join(said(rows, panel) for panel in panels)}"


def said(rows, panel):
    """A panel in words."""
    form, paper, ours = panel["form"], panel["paper"], panel["ours"]
    parts = []
    for row in rows:
        numbers = [f"the paper {form.format(paper[row])}"] if row in paper else []
        if row in ours:
            numbers.append(f"ours {form.format(sum(ours[row][0]) / len(ours[row][0]))}")
        if numbers:
            parts.append(f"{row} {', '.join(numbers)}")
    return f"{panel['title']}: {'; '.join(parts)}"
