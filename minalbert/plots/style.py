"""The style of all figures: no frames, few lines, greys that are readable on white and on dark pages (the background is
clear), and the colours of Okabe and Ito, which colour-blind eyes can distinguish.
"""

import base64
import functools
import io
import math

from ..arguments import like, path_of
from ..errors import FileError, InputError, MinalbertError, MissingLibraryError

BLUE, ORANGE, YELLOW, PURPLE, GREEN = "#0072B2", "#D55E00", "#F0C419", "#CC79A7", "#009E73"
INK, FAINT = "#797979", "#80808055"                  # half-way between black and white
TEXT = {"A": "#2E86C9", "B": "#D55E00", "special": INK}
FILL = {"mask": YELLOW, "random": PURPLE, "kept": GREEN}
ENDINGS = (".png", ".svg", ".pdf")
COLUMNS = 84                                         # letters in a row of a strip
FONT = {"family": "monospace", "fontsize": 10.5, "va": "center"}
LETTER = 0.0879                                      # inches: a letter of that font


def drawing(function):
    """Decorate a figure's function: data that are not as its docstring says are an InputError."""

    @functools.wraps(function)
    def drawn(*args, **options):
        try:
            return function(*args, **options)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            if isinstance(error, MinalbertError):
                raise
            reason = " ".join(str(error).split())[:200]
            name = function.__name__
            raise InputError(f"{name} cannot draw this ({reason}); help(plots.{name}) says what it draws") from error

    return drawn


def figure(width, height, description):
    """A Figure without a window, which a notebook shows. `description` is its text for those who do not see it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingLibraryError("figures need matplotlib: pip install 'minalbert[notebooks]'") from error

    class Drawn(Figure):
        def _repr_mimebundle_(self, include=None, exclude=None):
            picture = io.BytesIO()
            unsigned = {"Software": None}            # no version of matplotlib in the file
            self.savefig(picture, format="png", dpi=110, bbox_inches="tight", pad_inches=0.1, metadata=unsigned)
            png = base64.b64encode(picture.getvalue()).decode()
            return {"image/png": png, "text/plain": f"Figure: {description}"}, {"image/png": {"alt": description}}

    return Drawn(figsize=(width, height), facecolor="none", layout="none")


def one_line(title):
    """A title of two lines in one."""
    return ", ".join(title.split("\n"))


def describe_lines(lines):
    """{name: values} in words: the first and the last value of each line, and its extremes if they lie far outside."""
    return ", ".join(f"{name} {describe_values(values)}" for name, values in lines.items())


def describe_values(values):
    values = [value for value in map(float, values) if math.isfinite(value)]
    if not values:
        return "nowhere"
    low, high = min(values), max(values)
    far = max((high - low) / 4, 1e-9)                # less is rounding
    description = f"from {values[0]:.3g} to {values[-1]:.3g}"
    description += f", at least {low:.3g}" * (low < min(values[0], values[-1]) - far)
    return description + f", at most {high:.3g}" * (high > max(values[0], values[-1]) + far)


def figure_path(path):
    """A path whose ending says what is written. Without one, matplotlib would choose another name."""
    path = path_of("path", path)
    if path.suffix.lower() not in ENDINGS or path.is_dir():
        raise FileError(f"{path} is no place for a figure; it must be a file that ends in .png, .svg or .pdf")
    return path


def save(drawn, path):
    """Write a figure as .png, .svg or .pdf."""
    like("drawn", drawn, "a figure", "savefig")
    path = figure_path(path)
    try:
        drawn.savefig(path, dpi=200, bbox_inches="tight", pad_inches=0.15)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} could not be written: {getattr(error, 'strerror', None) or error}") from error
