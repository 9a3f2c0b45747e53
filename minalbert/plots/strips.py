"""An instance of the training data, token by token, as `minalbert data show` prints it."""

from .style import COLUMNS, FILL, FONT, INK, LETTER, TEXT, drawing, figure

KINDS = {"mask": "hidden by [MASK]", "random": "replaced at random (≠)", "kept": "left as it is (=)"}
ROW, LABELS = 0.36, 0.36                             # inches: a row, and what is below it


@drawing
def instance_strip(strip, columns=COLUMNS):
    """An instance, token by token: what the model reads, below it what it must predict, and the spans.

    `strip` is what minalbert.data.strip.strip(instances, tokenizer, epoch, number) returns.
    """
    rows = strip.wrapped(columns)
    heights = [ROW + LABELS * any(cell.kind for cell in cells[start:end]) for _, cells, start, end in rows]
    top = 0.8 + 0.2 * len(strip.notes)
    height = top + sum(heights) + 0.45
    drawn = figure((columns + 5) * LETTER, height, f"{strip.title}, token by token, with what must be found")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-4, columns + 1), ylim=(height, 0))
    axes.axis("off")
    axes.text(-3, 0.3, strip.title, color=INK, fontsize=12, fontweight="bold", va="center")
    for i, note in enumerate(strip.notes):
        axes.text(-3, 0.6 + 0.2 * i, note, color=INK, fontsize=9, va="center")
    y, previous = top, None
    for (name, cells, start, end), below in zip(rows, heights, strict=True):
        if name != previous:
            axes.text(-3, y, name, color=TEXT[name], fontweight="bold", **FONT)
        previous, x = name, 0
        for place in range(start, end):
            draw_cell(axes, cells, place, x, y, strip.words, begins_row=place == start)
            x += cells[place].width + 1
        y += below
    draw_legend(axes, strip, height - 0.25)
    return drawn


def draw_cell(axes, cells, place, x, y, words, begins_row):
    from matplotlib.patches import Rectangle

    cell, width = cells[place], cells[place].width
    if cell.glued and not begins_row:
        axes.text(x - 0.5, y, "·", color=INK, ha="center", **FONT)
    if not cell.kind:
        axes.text(x, y, cell.text, color=TEXT[cell.colour], **FONT)
        return
    axes.add_patch(Rectangle((x - 0.25, y - 0.12), width + 0.5, 0.24, color=FILL[cell.kind], linewidth=0))
    axes.text(x, y, cell.text, color="black", **FONT)
    axes.text(x, y + 0.23, cell.shown_label, color=INK, fontweight="bold", **FONT)
    opens = place == 0 or cells[place - 1].span != cell.span
    closes = place + 1 == len(cells) or cells[place + 1].span != cell.span
    line = {"color": INK, "linewidth": 1, "solid_capstyle": "butt"}
    low, high = y + 0.41, y + 0.36
    if opens:                                        # the number of words breaks the line: |2_____|
        axes.plot([x, x, x + 0.5], [high, low, low], **line)
        axes.text(x + 1, low, str(words[cell.span]), color=INK, fontsize=7.5, va="center", ha="center")
    start = x + 1.5 if opens else x if begins_row else x - 1
    end = x + width
    axes.plot([start, end, end] if closes else [start, end], [low, low, high] if closes else [low, low], **line)


def draw_legend(axes, strip, y):
    from matplotlib.patches import Rectangle

    x = 0
    for kind in legend(strip):
        axes.add_patch(Rectangle((x, y - 0.08), 2, 0.16, color=FILL[kind], linewidth=0))
        axes.text(x + 2.6, y, KINDS[kind], color=INK, fontsize=9, va="center")
        x += 5 + 0.8 * len(KINDS[kind])


def legend(strip):
    there = {cell.kind for _, cells in strip.rows for cell in cells}
    return [kind for kind in KINDS if kind in there]
