"""Distributions over a few words, such as probabilities and gradients: bars with their numbers."""

from .style import INK, drawing, figure, one_line
from .training import BLUE, ORANGE

ROW, HEAD = 0.27, 0.62                               # inches: of a word; above all
NAMES, LETTER, NUMBER = 0.2, 0.085, 0.45             # left of the words, of a letter of theirs, for a number
LONGEST, LEAST, GAP = 1.5, 1.7, 0.35                 # of the longest bar, of a panel at least, between two


@drawing
def distribution_bars(words, panels, label=None, form="{:.2f}"):
    """A row for each word, a panel for each distribution; bars below zero go to the left, in another colour.

    `panels` is {title: numbers, one a word}; a title's second line is small. `label` is the index of the
    right word, whose name is bold. All bars have one scale.
    """
    unit = LONGEST / (max(abs(value) for values in panels.values() for value in values) or 1.0)
    sides = [sides_of_zero(values, unit) for values in panels.values()]
    height, left = HEAD + ROW * len(words), NAMES + LETTER * max(map(len, words))
    wide = [max(LEAST, sum(both), title_width(title)) for both, title in zip(sides, panels, strict=True)]
    width = left + sum(wide) + GAP * (len(wide) - 1)
    drawn = figure(width, height, f"bars for {', '.join(words)}: {'; '.join(map(one_line, panels))}")
    for (title, values), (below, _), room in zip(panels.items(), sides, wide, strict=True):
        axes = drawn.add_axes((left / width, 0, room / width, ROW * len(words) / height))
        axes.set_xlim(-below / unit, (room - below) / unit)
        draw_bars(axes, title, values, form)
        left += room + GAP
    for row, word in enumerate(words):
        drawn.axes[0].annotate(word, (0, row), (-8, 0), ("axes fraction", "data"), "offset points", color=INK,
                               fontsize=9.5, fontweight="bold" if row == label else "normal", ha="right",
                               va="center", annotation_clip=False)  # fmt: skip
    return drawn


def sides_of_zero(values, unit):
    """Inches left and right of zero, with room for the numbers."""
    below, above = max(0.0, -min(values)), max(0.0, *values)
    return unit * below + NUMBER * (below > 0), unit * above + NUMBER


def title_width(title):
    head, _, small = title.partition("\n")
    return max(LETTER * 1.3 * len(head), LETTER * 0.85 * len(small))


def draw_bars(axes, title, values, form):
    head, _, small = title.partition("\n")
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.barh(range(len(values)), values, height=0.66, color=[ORANGE if value < 0 else BLUE for value in values])
    for row, value in enumerate(values):
        side = -1 if value < 0 else 1
        axes.annotate(number(value, form), (value, row), (3 * side, 0), textcoords="offset points", color=INK,
                      fontsize=8, ha="right" if side < 0 else "left", va="center")  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8)
    for text, above, font in ((head, 21, {"fontsize": 10.5, "fontweight": "bold"}), (small, 7, {"fontsize": 8})):
        axes.annotate(text, (0, 1), (0, above), "axes fraction", "offset points", color=INK, va="bottom", **font)
    axes.set_facecolor("none")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def number(value, form):
    """The number with a minus sign, but with none before a zero."""
    text = form.format(value)
    return text.replace("-", "−") if any(sign in "123456789" for sign in text) else text.replace("-", "")
