"""Attention probabilities: one square for each head, a row for each query token."""

import numpy as np

from ..errors import InputError
from .style import BLUE, INK, drawing, figure

SMALL, LETTER = {"family": "monospace", "fontsize": 8, "color": INK}, 0.067
GROUND = "#80808018"                                 # behind a head: no attention
GAP, NAME, FOOT, EDGE = 0.25, 0.24, 0.42, 0.07       # inches: between heads, above a head, for the scale, at the margin


@drawing
def head_grid(probs, tokens, names=None, columns=4, cell=0.22, most=None):
    """A grid of heads. In each, a token's row shows its attention to all tokens: the bluer, the more.

    `probs`: (N, T, T), rows that sum to one; `tokens`: T strings; `names`: N titles, "head 1" and so on if none are
    given; `columns`: number of heads side by side; `cell`: the side of a cell in inches; `most`: the share at which the
    blue is full, one for grids that are compared. If none is given, it is the largest share here.
    """
    probs = np.asarray(probs)
    N, T = len(probs), len(tokens)
    names = names or [f"head {number + 1}" for number in range(N)]
    if probs.shape != (N, T, T) or len(names) != N:
        raise InputError(f"probs has shape {probs.shape}; there are {T} tokens and {len(names)} names")
    columns = min(columns, N)
    side, words = T * cell, max(map(len, tokens)) * LETTER + 0.12
    across, down = side + GAP, side + NAME
    width = max(EDGE + words + columns * across, 3.6)
    height = -(-N // columns) * down + words + FOOT
    drawn = figure(width, height, f"what each of {' '.join(tokens)} looks at, in {', '.join(names)}")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    most = most or max(0.1, np.ceil(10 * probs.max() - 1e-6) / 10)
    for number, name in enumerate(names):
        x, y = EDGE + words + number % columns * across, NAME + number // columns * down
        axes.text(x, y - 0.11, name, fontweight="bold", va="center", **SMALL)
        draw_head(axes, probs[number], x, y, cell, most)
        for place, token in enumerate(tokens):
            middle = (place + 0.5) * cell
            if number % columns == 0:
                axes.text(x - 0.06, y + middle, token, ha="right", va="center", **SMALL)
            if number + columns >= N:                # the lowest of its column
                axes.text(x + middle, y + side + 0.06, token, rotation=90, ha="center", va="top", **SMALL)
    draw_scale(axes, most, EDGE, height - 0.15)
    return drawn


def blues():
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("blues", [BLUE + "00", BLUE + "ff"])


def draw_head(axes, shares, x, y, cell, most):
    """Draw one head. Row i from the top is token i; column j from the left is the token that it attends to."""
    from matplotlib.patches import Rectangle

    edges = np.arange(len(shares) + 1) * cell
    axes.add_patch(Rectangle((x, y), edges[-1], edges[-1], color=GROUND, linewidth=0))
    axes.pcolormesh(x + edges, y + edges, shares, cmap=blues(), vmin=0, vmax=most, linewidth=0)


def draw_scale(axes, most, x, y):
    axes.text(x, y, "0", va="center", **SMALL)
    axes.pcolormesh(np.linspace(x + 0.15, x + 1.05, 33), [y - 0.05, y + 0.05], np.linspace(0, 1, 32)[None],
                    cmap=blues(), linewidth=0)  # fmt: skip
    axes.text(x + 1.12, y, f"{most:.0%} of what a row looks at", va="center", **SMALL)
