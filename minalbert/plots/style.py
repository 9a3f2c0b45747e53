"""What all figures have in common.

No frames, few lines, greys that can be read on white and on dark pages (the background is clear), and the colours of
Okabe and Ito, which colour-blind eyes tell apart.
"""

import io

from ..data.errors import DataError

BLUE, ORANGE, YELLOW, PURPLE, GREEN = "#0072B2", "#D55E00", "#F0C419", "#CC79A7", "#009E73"
INK, FAINT = "#808080", "#80808055"                  # half-way between black and white
TEXT = {"A": "#2E86C9", "B": "#D55E00", "special": INK}
FILL = {"mask": YELLOW, "random": PURPLE, "kept": GREEN}
COLUMNS = 84                                         # letters in a row of a strip
FONT = {"family": "monospace", "fontsize": 10.5, "va": "center"}
LETTER = 0.0879                                      # inches: a letter of that font


def figure(width, height):
    """A Figure that belongs to no window, and that a notebook shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataError("figures need matplotlib: pip install 'minalbert[notebooks]'") from error

    class Drawn(Figure):
        def _repr_png_(self):
            picture = io.BytesIO()
            unsigned = {"Software": None}            # no version of matplotlib in the file
            self.savefig(picture, format="png", dpi=110, bbox_inches="tight", pad_inches=0.1, metadata=unsigned)
            return picture.getvalue()

    return Drawn(figsize=(width, height), facecolor="none", layout="none")


def save(drawn, path):
    try:
        drawn.savefig(path, dpi=200, bbox_inches="tight", pad_inches=0.15)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} could not be written: {error}") from error
