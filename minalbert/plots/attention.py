"""The attention of a [MASK], head by head, as `minalbert fill` prints it."""

import numpy as np

from .style import BLUE, COLUMNS, FILL, FONT, INK, LETTER, TEXT, drawing, figure

LEFT, TOP, ROW, GAP = 9, 0.3, 0.3, 0.09              # letters; inches above, of the tokens, and between layers
TALLEST, LAYER = 0.09, 0.5                           # inches: a head's row at most, and a layer's
GROUND = "#80808018"                                 # behind the heads: no attention


@drawing
def attention_strip(filled, columns=COLUMNS):
    """The tokens for each [MASK], and below them a row for each head: the bluer, the more attention.

    `filled` is the result of minalbert.train.fill(model, tokenizer, text).
    """
    M, L, N, _ = filled.attention.shape
    tall = min(TALLEST, LAYER / N)                   # of a head's row
    block = ROW + 0.2 + L * (N * tall + GAP) + 0.35
    height = TOP + M * block + 0.15
    drawn = figure((columns + 2) * LETTER, height, f"what {L} layers of {N} heads look at from {M} hidden words")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-LEFT - 1, columns - LEFT + 1), ylim=(height, 0))
    axes.axis("off")
    most = max(0.1, np.ceil(10 * filled.attention.max()) / 10)
    for number in range(M):
        draw_mask(axes, filled, number, TOP + number * block, tall, most, columns - LEFT)
    draw_scale(axes, most, height - 0.2, N)
    return drawn


def draw_mask(axes, filled, number, y, tall, most, columns):
    from matplotlib.patches import Rectangle

    attention = filled.attention[number]             # (L, N, T)
    guesses = ", ".join(f"{piece} {probability:.0%}" for piece, probability in filled.guesses[number][:4])
    axes.text(-LEFT, y, f"{filled.heading(number)} {guesses}", color=INK, fontsize=10, fontweight="bold", va="center")
    places = filled.shown_places(number, columns)
    x, y, before, ends = 0, y + ROW, -1, []
    for place in [*places, len(filled.tokens)]:
        if place > before + 1:
            axes.text(x, y, "…", color=INK, **FONT)
            x += 2
        elif place < len(filled.tokens) and filled.glued[place]:
            axes.text(x - 0.5, y, "·", color=INK, ha="center", **FONT)
        if place == len(filled.tokens):
            break
        token, masked, before = filled.tokens[place], place == filled.masks[number], place
        colour = "special" if token in ("[CLS]", "[SEP]") else "AB"[filled.segments[place]]
        if masked:
            axes.add_patch(Rectangle((x - 0.2, y - 0.12), len(token) + 0.4, 0.24, color=FILL["mask"], linewidth=0))
        axes.text(x, y, token, color="black" if masked else TEXT[colour], **FONT)
        ends.append((x - 0.3, x + len(token) + 0.3))
        x += len(token) + 1
    draw_layers(axes, attention[:, :, places], ends, y + 0.2, tall, most)


def draw_layers(axes, attention, ends, y, tall, most):
    """Draw a stack of heads for each layer, with gaps between the tokens."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    L, N, T = attention.shape
    blues = LinearSegmentedColormap.from_list("blues", [BLUE + "00", BLUE + "ff"])
    edges = np.array(ends).ravel()                   # begin, end, begin, end, ...
    for layer in range(L):
        axes.text(-1, y + N * tall / 2, f"layer {layer + 1}", color=INK, fontsize=8, va="center", ha="right")
        shares = np.full((N, 2 * T - 1), np.nan)
        shares[:, ::2] = attention[layer]
        for start, end in ends:
            axes.add_patch(Rectangle((start, y), end - start, N * tall, color=GROUND, linewidth=0))
        axes.pcolormesh(edges, y + tall * np.arange(N + 1), shares, cmap=blues, vmin=0, vmax=most, linewidth=0)
        y += N * tall + GAP


def draw_scale(axes, most, y, heads):
    from matplotlib.colors import LinearSegmentedColormap

    blues = LinearSegmentedColormap.from_list("blues", [BLUE + "00", BLUE + "ff"])
    style = {"color": INK, "fontsize": 8, "va": "center"}
    axes.text(-LEFT, y, f"a row is one of {heads} heads" if heads > 1 else "one head", **style)
    axes.pcolormesh(np.linspace(13, 23, 33), [y - 0.05, y + 0.05], np.linspace(0, 1, 32)[None], cmap=blues, linewidth=0)
    axes.text(12.4, y, "0", ha="right", **style)
    axes.text(23.6, y, f"{most:.0%} of what the head looks at", **style)
