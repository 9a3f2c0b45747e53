"""What all figures have in common.

No frames, few lines, greys that can be read on white and on dark pages (the background is clear), and the colours of
Okabe and Ito, which colour-blind eyes tell apart.
"""

import base64
import io
import math

from ..data.errors import DataError

BLUE, ORANGE, YELLOW, PURPLE, GREEN = "#0072B2", "#D55E00", "#F0C419", "#CC79A7", "#009E73"
INK, FAINT = "#808080", "#80808055"                  # half-way between black and white
TEXT = {"A": "#2E86C9", "B": "#D55E00", "special": INK}
FILL = {"mask": YELLOW, "random": PURPLE, "kept": GREEN}
COLUMNS = 84                                         # letters in a row of a strip
FONT = {"family": "monospace", "fontsize": 10.5, "va": "center"}
LETTER = 0.0879                                      # inches: a letter of that font


def figure(width, height, told):
    """A Figure that belongs to no window, and that a notebook shows; `told` says it to those who do not see it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DataError("figures need matplotlib: pip install 'minalbert[notebooks]'") from error

    class Drawn(Figure):
        def _repr_mimebundle_(self, include=None, exclude=None):
            picture = io.BytesIO()
            unsigned = {"Software": None}            # no version of matplotlib in the file
            self.savefig(picture, format="png", dpi=110, bbox_inches="tight", pad_inches=0.1, metadata=unsigned)
            png = base64.b64encode(picture.getvalue()).decode()
            return {"image/png": png, "text/plain": f"Figure: {told}"}, {"image/png": {"alt": told}}

    return Drawn(figsize=(width, height), facecolor="none", layout="none")


def one_line(title):
    return ", ".join(title.split("\n"))


def told_lines(lines):
    """{name: values} in words: each line's name, where it begins and where it ends."""
    finite = {name: [value for value in map(float, values) if math.isfinite(value)] for name, values in lines.items()}
    return ", ".join(f"{name} from {some[0]:.3g} to {some[-1]:.3g}" for name, some in finite.items() if some)


def save(drawn, path):
    try:
        drawn.savefig(path, dpi=200, bbox_inches="tight", pad_inches=0.15)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} could not be written: {error}") from error
