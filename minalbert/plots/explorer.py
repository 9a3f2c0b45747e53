"""Attention and its gradients, interactive: click on a number to see what it depends on, or change it.

explorer.js draws and computes; this file checks the arrays and puts both into one piece of HTML.
"""

import hashlib
import html
import json
from pathlib import Path

import numpy as np

from ..errors import InputError
from .style import drawing

MOST = 64                                            # heads, tokens, width: more would be slow and unreadable
MASKED = -10000                                      # far below all scores, and short to read


@drawing
def explorer(q, k, v, dcontext, tokens, attention_mask=None, digits=5):
    """Explore the attention of one sequence. q, k, v and dcontext are (N, T, D); tokens are T strings.

    A notebook shows the result. Numbers are rounded to some significant digits, and all others are computed from
    these. attention_mask: (T,), 1 for a token, 0 for padding.
    """
    arrays = {"q": q, "k": k, "v": v, "dcontext": dcontext}
    arrays = {name: numbers(name, array) for name, array in arrays.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or arrays["q"].ndim != 3 or not 0 < min(*arrays["q"].shape) <= max(*arrays["q"].shape) <= MOST:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"these must have one shape (heads, tokens, width), each at most {MOST}: {found}")
    N, T, _ = arrays["q"].shape
    tokens = [str(token) for token in tokens]
    mask = np.ones(T) if attention_mask is None else numbers("attention_mask", attention_mask)
    if len(tokens) != T or mask.shape != (T,):
        raise InputError(f"q has {T} tokens, but there are {len(tokens)} names and a mask of shape {mask.shape}")
    heads = [{name: rounded(array[head], digits) for name, array in arrays.items()} for head in range(N)]
    return Explorer({"tokens": tokens, "heads": heads, "mask": [0 if real else MASKED for real in mask]})


def numbers(name, array):
    try:
        array = np.asarray(array, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{name} has numbers that are not finite")
    return array


def rounded(matrix, digits):
    return [[float(f"{x:.{digits}g}") for x in row] for row in matrix]


class Explorer:
    """The data of an explorer, which a notebook shows as HTML."""

    def __init__(self, data):
        self.data = data

    def __repr__(self):
        heads, tokens = len(self.data["heads"]), len(self.data["tokens"])
        return (
            f"An explorer of attention: {heads} head{'s' * (heads > 1)}, {tokens} token{'s' * (tokens > 1)}; "
            "run this notebook in Jupyter, or open it on the site, to use it."
        )

    def _repr_html_(self):
        data = json.dumps(self.data, separators=(",", ":")).replace("<", "\\u003c")  # no </script> within
        root = "explorer-" + hashlib.sha256(data.encode()).hexdigest()[:12]
        script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
        # the attribute asks JupyterLab to leave the arrow keys to us
        return (
            f'<div id="{root}" data-lm-suppress-shortcuts="true"><p>{html.escape(repr(self))}</p></div>\n'
            f'<script>\n(function () {{\n"use strict";\n{script}\nmount("{root}", {data});\n}})();\n</script>'
        )
