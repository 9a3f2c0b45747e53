"""Several models compared: one bar for each, below the name of a measure."""

from .style import BLUE, FAINT, GREEN, INK, ORANGE, PURPLE, YELLOW, drawing, figure

WIDTH, NAMES, NUMBERS = 7.2, 1.5, 1.2                # inches: in all, left of the bars, and right of them
TITLE, BAR, GAP = 0.27, 0.23, 0.2                    # heights: of a measure's name, a bar, and between measures
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW)


@drawing
def bars(measures):
    """Bars for each measure. `measures` is {"weights": ("{:.1f} MB", {"shared": 47.3, ...}), ...}.

    Each measure has its own scale, from zero to its largest number. Above the bars, the largest number is given as a
    multiple of the smallest.
    """
    tall = [TITLE + BAR * len(numbers) + GAP for _, numbers in measures.values()]
    description = "; ".join(
        f"{title}: " + ", ".join(f"{label} {written.format(number)}" for label, number in numbers.items())
        for title, (written, numbers) in measures.items()
    )
    drawn = figure(WIDTH, sum(tall), f"bars, {description}")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(sum(tall), 0))
    axes.axis("off")
    labels = dict.fromkeys(label for _, numbers in measures.values() for label in numbers)
    colours = dict(zip(labels, COLOURS * len(labels), strict=False))
    y = 0
    for (title, (written, numbers)), high in zip(measures.items(), tall, strict=True):
        draw_measure(axes, title, written, numbers, y, colours)
        y += high
    return drawn


def draw_measure(axes, title, written, numbers, y, colours):
    from matplotlib.patches import Rectangle

    room, most = WIDTH - NAMES - NUMBERS, max(numbers.values())
    axes.text(NAMES, y + TITLE / 2, title, color=INK, fontsize=9.5, fontweight="bold", va="center")
    axes.text(WIDTH, y + TITLE / 2, compared(written, numbers.values()), color=INK, fontsize=9, va="center", ha="right")
    y += TITLE
    axes.plot([NAMES, NAMES], [y, y + BAR * len(numbers)], color=FAINT, linewidth=1)
    for label, number in numbers.items():
        long = room * number / most if most else 0
        axes.add_patch(Rectangle((NAMES, y + 0.03), long, BAR - 0.06, color=colours[label], linewidth=0))
        axes.text(NAMES - 0.1, y + BAR / 2, label, color=INK, fontsize=8.5, va="center", ha="right")
        axes.text(NAMES + long + 0.08, y + BAR / 2, written.format(number), color=INK, fontsize=8.5, va="center")
        y += BAR


def compared(written, numbers):
    """7.6 times; or the same, if all numbers are written the same."""
    if len({written.format(number) for number in numbers}) == 1:
        return "the same"
    low, high = min(numbers), max(numbers)
    return f"{high / low:.1f} times" if low > 0 else ""
