"""A row of matrices with their values in the cells, and operators between them: q @ kᵀ = S."""

import numpy as np

from ..errors import InputError
from .style import INK, drawing, figure

ABOVE, BELOW, ZERO = "#56B4E9", "#E69F00", "#F2F2F2"  # of Okabe and Ito; black can be read on all three
CELL, TALL, GAP = 0.46, 0.3, 0.14                    # inches: a cell at least, its height, between neighbours
SMALL, SMALL_LETTER = {"family": "monospace", "fontsize": 8, "va": "center"}, 0.067
NAME, NAME_LETTER = {"family": "monospace", "fontsize": 10, "va": "center"}, 0.0836
HEAD = 0.56                                          # inches above the tallest: its name, its columns' names


@drawing
def matrices(items, digits=2):
    """A row of matrices: blue above zero, orange below, the stronger the further from zero.

    `items` are dicts and strings. A dict is a matrix: {"values": (R, C)} and, if wanted, its "name", the names of
    its "rows" and "columns", and "largest", the value at which its colour is full (else its own largest). A string is
    what stands between two matrices: "@", "=", "softmax". A cell's colour follows what is written in it.
    """
    items = [item if isinstance(item, str) else measured(item, digits) for item in items]
    lower = max(item["texts"].shape[0] for item in items if not isinstance(item, str)) * TALL
    places = [len(item) * NAME_LETTER if isinstance(item, str) else item["width"] for item in items]
    width = sum(places) + GAP * (len(items) + 1)
    names = (item if isinstance(item, str) else item.get("name") or numbers_of(item) for item in items)
    drawn = figure(width, HEAD + lower + 0.1, f"matrices with their numbers: {' '.join(names)}")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(HEAD + lower + 0.1, 0))
    axes.axis("off")
    x = GAP
    for item, place in zip(items, places, strict=True):
        if isinstance(item, str):
            axes.text(x + place / 2, HEAD + lower / 2, item, color=INK, ha="center", **NAME)
        else:
            draw_matrix(axes, item, x, HEAD + lower / 2)
        x += place + GAP
    return drawn


def numbers_of(item):
    return "{} × {} numbers".format(*item["texts"].shape)


def measured(item, digits):
    """The dict with the texts of its cells, the strengths of their colours from -1 to 1, and its widths."""
    values = np.asarray(item["values"])
    if values.ndim != 2:
        raise InputError(f"{item.get('name', 'a matrix')} has shape {values.shape}; it must have rows and columns")
    values = np.round(values, digits) + 0.0          # no -0.00
    largest = item.get("largest") or np.abs(np.nan_to_num(values)).max() or 1
    texts = np.array([[written(value, digits) for value in row] for row in values], object)
    rows, columns = (list(item.get(side) or []) for side in ("rows", "columns"))
    if len(rows) not in (0, len(values)) or len(columns) not in (0, values.shape[1]):
        raise InputError(f"{values.shape} values, but {len(rows)} names of rows and {len(columns)} of columns")
    cell = max(CELL, 0.1 + SMALL_LETTER * max(map(len, [*columns, *texts.ravel()])))
    left = max(map(len, rows)) * SMALL_LETTER + 0.07 if rows else 0
    width = left + max(cell * values.shape[1], NAME_LETTER * len(item.get("name", "")))
    strengths = np.clip(np.nan_to_num(values) / largest, -1, 1)
    return item | {"texts": texts, "strengths": strengths, "cell": cell, "left": left, "width": width,
                   "rows": rows, "columns": columns}  # fmt: skip


def written(value, digits):
    return f"{value:.{digits if abs(value) < 100 else 0}f}".replace("-", "−")


def colour(strength):
    """From light grey at zero to blue at 1 and orange at -1."""
    end = ABOVE if strength > 0 else BELOW
    mix = [(1 - abs(strength)) * int(ZERO[i : i + 2], 16) + abs(strength) * int(end[i : i + 2], 16) for i in (1, 3, 5)]
    return tuple(part / 255 for part in mix)


def draw_matrix(axes, item, x, middle):
    from matplotlib.patches import Rectangle

    (R, C), cell, x = item["texts"].shape, item["cell"], x + item["left"]
    top = middle - R * TALL / 2
    over = 0.19 if item["columns"] else 0
    axes.text(x, top - over - 0.16, item.get("name", ""), color=INK, fontweight="bold", **NAME)
    for column, name in enumerate(item["columns"]):
        axes.text(x + (column + 0.5) * cell, top - 0.12, name, color=INK, ha="center", **SMALL)
    for row, name in enumerate(item["rows"]):
        axes.text(x - 0.07, top + (row + 0.5) * TALL, name, color=INK, ha="right", **SMALL)
    for row, column in np.ndindex(R, C):
        left, upper = x + column * cell, top + row * TALL
        fill = colour(item["strengths"][row, column])
        axes.add_patch(Rectangle((left + 0.01, upper + 0.01), cell - 0.02, TALL - 0.02, color=fill, linewidth=0))
        axes.text(left + cell / 2, upper + TALL / 2, item["texts"][row, column], color="black", ha="center", **SMALL)
