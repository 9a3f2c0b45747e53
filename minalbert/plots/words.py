"""The words of a text, the bluer or the more orange, the more a decision depends on them."""

from .matrices import colour
from .style import COLUMNS, FONT, INK, LETTER, drawing, figure

ROW, TOP, LEGEND = 0.3, 0.55, 0.4                    # inches: a row, above the first, below the last


@drawing
def word_shares(words, decides, columns=COLUMNS):
    """The text with each word on the colour of its share: blue speaks for what was decided, orange against it.

    words     WordShares, as minalbert.tasks.classify and minalbert.tasks.answer find them
    decides   what was decided, for the title
    """
    rows = wrapped([word.word for word in words], columns)
    height = TOP + ROW * len(rows) + LEGEND
    most = max((abs(word.share) for word in words), default=0) or 1
    strongest = max(words, key=lambda word: abs(word.share))
    drawn = figure((columns + 2) * LETTER, height, f"the words that {decides} depends on, most of all {strongest.word}")
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-1, columns + 1), ylim=(height, 0))
    axes.axis("off")
    axes.text(0, 0.2, f"for {decides}", color=INK, fontsize=10, fontweight="bold", va="center")
    for number, (start, end) in enumerate(rows):
        x, y = 0, TOP + ROW * number
        for word in words[start:end]:
            draw_word(axes, word.word, word.share / most, x, y)
            x += len(word.word) + 1
    legend = f"{most:.3g} is the largest share; they sum to {sum(word.share for word in words):.3g}"
    x = 0
    for name, strength in (("for", 1), ("against", -1)):
        draw_word(axes, name, strength, x, height - 0.2)
        x += len(name) + 2
    axes.text(x + 1, height - 0.2, legend, color=INK, fontsize=8, va="center")
    return drawn


def draw_word(axes, word, strength, x, y):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.3, y - 0.12), len(word) + 0.6, 0.24, color=colour(strength), linewidth=0))
    axes.text(x, y, word, color="black", **FONT)


def wrapped(texts, columns):
    """(start, end) of each row of words."""
    rows, start, used = [], 0, 0
    for i, text in enumerate(texts):
        if i > start and used + 1 + len(text) > columns:
            rows.append((start, i))
            start, used = i, 0
        used += len(text) + (i > start)
    return [*rows, (start, len(texts))]
