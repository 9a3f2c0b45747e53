"""The errors of a gradient, entry by entry: |yours - expected| on a logarithmic scale."""

import numpy as np

from .style import INK, LETTER, ORANGE, drawing, figure

LIMIT = 1e-10                                        # relative to the largest entry; a larger error is not rounding
CELL, TALL, HEAD, FOOT = 0.42, 0.26, 0.95, 0.62      # inches
BAR = 4.0                                            # inches: the scale
DECADES = 16                                         # of the scale, the precision of float64
GROUND = "#80808018"
ROUNDING, WRONG = ("#80808030", "#808080a0"), ("#F7C9A3", ORANGE)        # from small to large


@drawing
def gradient_errors(yours, expected, rows=None, columns=None, title="yours \N{MINUS SIGN} expected", size=None):
    """A heat map of the difference of two gradients. Grey is rounding; orange is wrong, and shows its error.

    yours, expected: arrays of one shape; a vector is a row, and of more than two axes all but the last are rows.
    rows, columns: names to use instead of numbers. Wide tensors have no numbers in the cells.
    size: errors are divided by it; the largest expected entry, if none is given (or 1, if all entries are zero).
    """
    expected = np.atleast_1d(np.asarray(expected, float))
    text = f"{size:.3g}" if size else f"the largest expected entry, {np.abs(expected).max():.3g}"
    size = size or np.abs(expected).max() or 1.0
    errors = np.abs(np.asarray(yours, float).reshape(expected.shape) - expected).reshape(-1, expected.shape[-1]) / size
    R, C = errors.shape
    rows = list(map(str, rows if rows is not None else range(R) if expected.ndim > 1 else [""]))
    columns = list(map(str, columns if columns is not None else range(C)))
    cell, tall = (CELL, TALL) if max(R, C) <= 24 else (6 / max(R, C),) * 2
    left = 0.25 + LETTER * max(map(len, rows))
    width, height = left + max(cell * C, BAR + 0.3) + 0.3, HEAD + tall * R + FOOT
    row, column = divmod(int(np.nanargmax(errors)), C)
    where = f"the worst in row {rows[row]}, column {columns[column]}" if errors[row, column] > LIMIT else "all rounding"
    description = f"{title}: a heat map of {R} × {C} errors, {where}"
    drawn = figure(width, height, description)
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-left, width - left), ylim=(height - HEAD, -HEAD))
    axes.axis("off")
    axes.text(-left + 0.1, -HEAD + 0.2, title, color=INK, fontsize=10.5, fontweight="bold", va="center")
    axes.text(-left + 0.1, -HEAD + 0.42, f"relative to {text}", color=INK, fontsize=8, va="center")
    draw_names(axes, rows, columns, cell, tall)
    draw_cells(axes, errors, cell, tall)
    draw_bar(axes, tall * R + 0.2)
    return drawn


def draw_names(axes, rows, columns, cell, tall):
    """Draw all names, or every so many of them if they would touch."""
    most = max(len(name) for name in columns) * LETTER + 0.08
    for names, step, room in ((rows, tall, 0.16), (columns, cell, most)):
        every = int(np.ceil(room / step))
        for i in range(0, len(names), every):
            place = (-0.1, (i + 0.5) * step) if names is rows else ((i + 0.5) * step, -0.13)
            axes.text(*place, names[i], color=INK, fontsize=9, va="center", ha="right" if names is rows else "center")


def draw_cells(axes, errors, cell, tall):
    from matplotlib.patches import Rectangle

    R, C = errors.shape
    axes.add_patch(Rectangle((0, 0), cell * C, tall * R, color=GROUND, linewidth=0))
    axes.imshow(colours(errors), extent=(0, cell * C, tall * R, 0), aspect="auto", interpolation="nearest")
    if cell >= CELL:
        for (i, j), error in np.ndenumerate(errors):
            if not error <= LIMIT:
                text = f"{error:.0e}" if not 0.01 <= error < 100 else f"{error:.2g}"
                axes.text((j + 0.5) * cell, (i + 0.5) * tall, text.replace("e-0", "e-").replace("e+0", "e"),
                          color="black", fontsize=7.5, va="center", ha="center")  # fmt: skip


def colours(errors):
    """Colours (..., 4): clear without an error, grey up to the limit, orange above it and for NaN."""
    from matplotlib.colors import LinearSegmentedColormap

    with np.errstate(divide="ignore"):
        height = np.log10(errors) / DECADES + 1     # 0 to 1 on the scale
    height = np.nan_to_num(height, nan=1.0, posinf=1.0, neginf=0.0)
    limit = np.log10(LIMIT) / DECADES + 1
    grey, orange = (LinearSegmentedColormap.from_list("", ends) for ends in (ROUNDING, WRONG))
    below, above = (np.clip(side, 0.0, 1.0) for side in (height / limit, (height - limit) / (1 - limit)))
    shown = np.where((errors <= LIMIT)[..., None], grey(below), orange(above))
    shown[errors == 0, 3] = 0
    return shown


def draw_bar(axes, y):
    """Draw the scale, from the precision of float64 to the largest entry."""
    middles = (np.arange(320) + 0.5) / 320
    axes.imshow(colours(10 ** (DECADES * (middles - 1)))[None], extent=(0, BAR, y + 0.1, y), aspect="auto",
                interpolation="nearest")  # fmt: skip
    split = round(np.log10(LIMIT))
    style = {"color": INK, "fontsize": 8, "va": "center", "ha": "center"}
    for power in (-DECADES, split, split // 2, 0):
        axes.text(BAR * (1 + power / DECADES), y + 0.2, f"1e{power}" if power else "1", **style)
    for power, text in ((split - DECADES) / 2, "rounding"), (split / 2, "wrong"):
        axes.text(BAR * (1 + power / DECADES), y + 0.36, text, **style)
