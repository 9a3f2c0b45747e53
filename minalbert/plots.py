"""Figures for notebooks: what `minalbert data show` and `stats` print, drawn.

One style: no frames, few lines, greys that can be read on white and on dark pages (the background is clear), and
the colours of Okabe and Ito, which colour-blind eyes tell apart. Each function returns a matplotlib Figure.
"""

from .data.errors import DataError

BLUE, ORANGE, YELLOW, PURPLE, GREEN = "#0072B2", "#D55E00", "#F0C419", "#CC79A7", "#009E73"
INK, FAINT = "#808080", "#80808055"                  # half-way between black and white
TEXT = {"A": "#2E86C9", "B": "#D55E00", "special": INK}
FILL = {"mask": YELLOW, "random": PURPLE, "kept": GREEN}
SAID = {"mask": "hidden by [MASK]", "random": "replaced at random (≠)", "kept": "left as it is (=)"}
COLUMNS = 84                                         # letters in a row of a strip
FONT = {"family": "monospace", "fontsize": 10.5, "va": "center"}
LETTER, ROW, LABELS = 0.0879, 0.36, 0.36             # inches: a letter of that font; a row, and what is below it


def figure(width, height):
    """A Figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataError("figures need matplotlib: pip install 'minalbert[notebooks]'") from error
    return Figure(figsize=(width, height), facecolor="none", layout="none")


def save(drawn, path):
    try:
        drawn.savefig(path, dpi=200, bbox_inches="tight", pad_inches=0.15)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} could not be written: {error}") from error


def instance_strip(strip, columns=COLUMNS):
    """An instance, token by token: what the model reads, below it what it must find, and the spans.

    `strip` is what minalbert.data.strip.strip(instances, tokenizer, epoch, number) returns.
    """
    from .data.strip import cell_width, wrapped

    rows = [(name, cells, *ends) for name, cells in strip.rows for ends in wrapped(cells, columns)]
    heights = [ROW + LABELS * any(cell.kind for cell in cells[start:end]) for _, cells, start, end in rows]
    top = 0.8 + 0.2 * len(strip.notes)
    height = top + sum(heights) + 0.45
    drawn = figure((columns + 5) * LETTER, height)
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
            x += cell_width(cells[place]) + 1
        y += below
    draw_legend(axes, strip, height - 0.25)
    return drawn


def draw_cell(axes, cells, place, x, y, words, begins_row):
    from matplotlib.patches import Rectangle

    from .data.strip import SIGNS, cell_width

    cell, width = cells[place], cell_width(cells[place])
    if cell.glued and not begins_row:
        axes.text(x - 0.5, y, "·", color=INK, ha="center", **FONT)
    if not cell.kind:
        axes.text(x, y, cell.text, color=TEXT[cell.colour], **FONT)
        return
    axes.add_patch(Rectangle((x - 0.25, y - 0.12), width + 0.5, 0.24, color=FILL[cell.kind], linewidth=0))
    axes.text(x, y, cell.text, color="black", **FONT)
    axes.text(x, y + 0.23, SIGNS[cell.kind] + cell.label, color=INK, fontweight="bold", **FONT)
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
    for said in legend(strip):
        axes.add_patch(Rectangle((x, y - 0.08), 2, 0.16, color=FILL[said], linewidth=0))
        axes.text(x + 2.6, y, SAID[said], color=INK, fontsize=9, va="center")
        x += 5 + 0.8 * len(SAID[said])


def legend(strip):
    there = {cell.kind for _, cells in strip.rows for cell in cells}
    return [kind for kind in SAID if kind in there]


def histograms(found, columns=2):
    """Histograms side by side. `found` is {name: histogram}, as minalbert.data.stats makes them."""
    rows = -(-len(found) // columns)
    drawn = figure(4.6 * min(columns, len(found)), 2.7 * rows)
    grid = drawn.subplots(rows, min(columns, len(found)), squeeze=False)
    drawn.subplots_adjust(wspace=0.3, hspace=0.8)
    for axes, (name, histogram) in zip(grid.ravel(), found.items(), strict=False):
        draw_histogram(axes, name, histogram)
    for axes in grid.ravel()[len(found) :]:
        axes.axis("off")
    return drawn


def draw_histogram(axes, name, histogram):
    from .data.stats import step_names

    starts, counts = histogram["starts"], histogram["counts"]
    total, places = max(1, sum(counts)), range(len(starts))
    bars = axes.bar(places, [100 * count / total for count in counts], width=0.86, color=BLUE)
    axes.bar_label(bars, [f"{100 * count / total:.0f}" for count in counts], color=INK, fontsize=8, padding=2)
    axes.set_title(name, color=INK, fontsize=11, fontweight="bold", loc="left", pad=22)
    axes.text(0, 1.06, f"mean {histogram['mean']:,.1f}, longest {histogram['largest']:,}; shares in %",
              color=INK, fontsize=8, transform=axes.transAxes)  # fmt: skip
    names = step_names(histogram)
    slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names), default=0) > 5 else {}
    axes.set_xticks(places, names, color=INK, fontsize=7, **slanted)
    axes.margins(y=0.15)
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.set_facecolor("none")
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
