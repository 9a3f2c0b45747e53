"""Scores against the number of labelled examples: what fine-tuning reaches with few labels and with many."""

import numpy as np

from ..errors import InputError
from .panels import level, line, name_ends, panel
from .style import GREEN, INK, ORANGE, drawing, figure
from .training import BLUE, PURPLE

LOOKS = (("-", BLUE), ("--", ORANGE), ("-", GREEN), ("--", PURPLE))
WIDTH, ROW, LOW, TALL, LEFT, RIGHT = 8.4, 3.0, 0.5, 1.85, 0.5, 1.0         # inches
ASIDE = 1.1                                          # from one name's dots to the next one's


@drawing
def label_curves(panels, guessing=None, columns=2):
    """A panel for each task: a dot for each seed, and a line through the medians, over the number of labels. The dots
    of the names stand side by side, so that equal scores can be seen.

    `panels` is {title: {name: {labels: scores of the seeds}}}, scores from 0 to 1; a title's second line is small.
    `guessing` is {title: score of whoever guesses}, drawn as a thin line.
    """
    names = list(dict.fromkeys(name for found in panels.values() for name in found))
    if not 1 <= len(names) <= len(LOOKS):
        raise InputError(f"{len(names)} names were given; from 1 to {len(LOOKS)} are distinguishable")
    looks, columns = dict(zip(names, LOOKS, strict=False)), min(columns, len(panels))
    width, height = WIDTH / 2 * columns, ROW * -(-len(panels) // columns)
    drawn = figure(width, height, "; ".join(described(title, found) for title, found in panels.items()))
    for number, (title, found) in enumerate(panels.items()):
        row, column = divmod(number, columns)
        place = column * WIDTH / 2 + LEFT, height - row * ROW - (ROW - LOW), WIDTH / 2 - LEFT - RIGHT, TALL
        axes = drawn.add_axes((place[0] / width, place[1] / height, place[2] / width, place[3] / height))
        panel(axes, *title.partition("\n")[::2])
        draw_names(axes, found, looks)
        if title in (guessing or {}):
            level(axes, guessing[title], "guessing", below=guessing[title] > 0.15)
    return drawn


def described(title, found):
    """The medians in words."""
    medians = (f"{name} " + ", ".join(f"{np.median(scores):.2f} with {labels:,}" for labels, scores in by.items())
               for name, by in found.items())        # fmt: skip
    return f"{title.splitlines()[0]}, medians by labels: " + "; ".join(medians)


def draw_names(axes, found, looks):
    counts, ends = sorted({labels for by in found.values() for labels in by}), []
    axes.set_xscale("log")
    axes.set_xlim(0.8 * counts[0], 1.15 * counts[-1])
    axes.set_ylim(0, 1.02)
    for number, (name, by) in enumerate(found.items()):
        (dash, colour), aside = looks[name], ASIDE ** (number - (len(found) - 1) / 2)
        labels = np.array(sorted(by))
        for count in labels:
            axes.plot([count * aside] * len(by[count]), by[count], "o", color=colour, markersize=4.5, alpha=0.7,
                      markeredgewidth=0, clip_on=False)      # fmt: skip
        end = line(axes, labels, np.array([np.median(by[count]) for count in labels], float), colour, dash=dash)
        ends += [(*end, name, colour)] if end else []
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.set_xticks([], minor=True)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("labelled examples", color=INK, fontsize=8, labelpad=3)
    axes.tick_params(length=0, pad=5, labelsize=8, labelcolor=INK)
    name_ends(axes, ends)
