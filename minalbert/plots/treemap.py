"""Boxes whose areas are numbers of parameters, for several models at one scale."""

from ..errors import InputError
from .style import GREEN, INK, ORANGE, PURPLE, TEXT, YELLOW, drawing, figure

WIDTH, TALLEST = 7.8, 3.6                            # inches: of a block, and of the tallest
HEAD, LINE, AFTER = 0.34, 0.19, 0.22                 # above a block, a line of text below it, and after that
LETTER, HIGH = 0.078, 0.155                          # inches: at most a letter of a label, and its line
COLOURS = (YELLOW, TEXT["A"], PURPLE, GREEN, ORANGE)  # black is read on each


@drawing
def treemap(models):
    """Boxes for {title: {group: {name: count}}}, of one model or more, with at most five groups.

    Areas are to scale, within a model and between models. Boxes too small for their names are named below.
    """
    models = {title: counted(groups) for title, groups in models.items()}
    names = list(dict.fromkeys(group for groups in models.values() for group in groups))
    if not 1 <= len(names) <= len(COLOURS):
        raise InputError(f"{len(names)} groups were given; from 1 to {len(COLOURS)} are distinguishable")
    colours = dict(zip(names, COLOURS, strict=False))
    most = max(total(groups) for groups in models.values())
    blocks = []                                      # (title, groups, high, boxes, lines below)
    for title, groups in models.items():
        high = TALLEST * total(groups) / most
        boxes = list(boxes_of(groups, high))
        nameless = [f"{name} {count:,}" for _, name, count, box in boxes if not label(name, count, box)]
        blocks.append((title, groups, high, boxes, wrapped("too small for a name here: ", nameless)))
    height = sum(HEAD + high + LINE * (1 + len(lines)) + AFTER for _, _, high, _, lines in blocks) - AFTER / 2
    description = (f"{title}: " + ", ".join(f"{group} {sum(parts.values()):,}" for group, parts in groups.items())
            for title, groups in models.items())  # fmt: skip
    drawn = figure(WIDTH, height, "areas as large as parts have weights. " + "; ".join(description))
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-0.02, WIDTH + 0.02), ylim=(height, 0))
    axes.axis("off")
    y = 0
    for title, groups, high, boxes, lines in blocks:
        style = {"color": INK, "va": "center"}
        axes.text(0, y + 0.17, title, fontsize=11, fontweight="bold", **style)
        axes.text(WIDTH, y + 0.17, f"{total(groups):,}", fontsize=11, ha="right", **style)
        draw_boxes(axes, boxes, y + HEAD, colours)
        y += HEAD + high + LINE
        draw_groups(axes, groups, y - 0.05, colours)
        for line in lines:
            y += LINE
            axes.text(0, y - 0.05, line, fontsize=8, **style)
        y += AFTER
    return drawn


def counted(groups):
    """The groups without empty ones."""
    groups = {group: {name: count for name, count in parts.items() if count} for group, parts in groups.items()}
    return {group: parts for group, parts in groups.items() if parts}


def total(groups):
    return sum(sum(parts.values()) for parts in groups.values())


def boxes_of(groups, high):
    """(group, name, count, (x, y, wide, high)): a rectangle for each group, and within it one for each name."""
    sums = {group: sum(parts.values()) for group, parts in groups.items()}
    for group, place in squarified(sums, 0, 0, WIDTH, high):
        for name, box in squarified(groups[group], *place):
            yield group, name, groups[group][name], box


def squarified(counts, x, y, wide, high):
    """{name: count} -> (name, (x, y, wide, high)), largest first (Bruls, Huizing and van Wijk, 2000).

    Boxes stand in rows along the shorter side; a row takes another box as long as no box becomes more oblong.
    """
    scale = wide * high / sum(counts.values())
    rest = [(name, count * scale) for name, count in sorted(counts.items(), key=lambda item: -item[1])]
    while rest:
        side, size = min(wide, high), 1
        while size < len(rest) and worst(rest[: size + 1], side) <= worst(rest[:size], side):
            size += 1
        row, rest = rest[:size], rest[size:]
        deep, along = sum(area for _, area in row) / side, 0
        for name, area in row:
            long = area / deep
            yield name, (x, y + along, deep, long) if high <= wide else (x + along, y, long, deep)
            along += long
        if high <= wide:
            x, wide = x + deep, wide - deep
        else:
            y, high = y + deep, high - deep


def worst(row, side):
    """The length of the most oblong box of a row, divided by its width."""
    deep = sum(area for _, area in row) / side
    return max(max(area / deep / deep, deep / (area / deep)) for _, area in row)


# Text


def label(name, count, box):
    """Name and count in two lines or in one, if the box has room for them; else nothing."""
    _, _, wide, high = box
    for text in (f"{name}\n{count:,}", f"{name} {count:,}"):
        lines = text.split("\n")
        if max(map(len, lines)) * LETTER + 0.06 <= wide and len(lines) * HIGH + 0.03 <= high:
            return text
    return ""


def draw_boxes(axes, boxes, top, colours):
    from matplotlib.patches import Rectangle

    for group, name, count, box in boxes:
        x, y, wide, high = box
        axes.add_patch(Rectangle((x, top + y), wide, high, facecolor=colours[group], edgecolor="#00000090",
                                 linewidth=0.7))  # fmt: skip
        if text := label(name, count, box):
            axes.text(x + wide / 2, top + y + high / 2, text, color="black", fontsize=8, ha="center", va="center",
                      linespacing=1.25)  # fmt: skip


def draw_groups(axes, groups, y, colours):
    """Draw the groups' shares in one line, each with its colour."""
    from matplotlib.patches import Rectangle

    x, every = 0, total(groups)
    for group, parts in groups.items():
        text = f"{group} {sum(parts.values()) / every:.1%}"
        axes.add_patch(Rectangle((x, y - 0.05), 0.1, 0.1, color=colours[group], linewidth=0))
        axes.text(x + 0.16, y, text, color=INK, fontsize=8, va="center")
        x += 0.4 + len(text) * LETTER


def wrapped(begin, names):
    """Lines of names, as long as the block is wide."""
    lines = [begin] if names else []
    for i, name in enumerate(names):
        name += ", " if i < len(names) - 1 else ""
        if (len(lines[-1]) + len(name)) * 0.9 * LETTER > WIDTH:
            lines.append("")
        lines[-1] += name
    return lines
