"""Pictures that move: the reader plays them, or changes what they are made of. Each is one self-contained script.

    shared_passes      one block's passes forward and back, and the sum of their gradients
    masked_text        a text that the reader types, swapped and masked
    lamb_beside_adam   steps of both on tensors of different size

moving.js has what they share, and each has a file of its name; this file checks the arrays and makes the HTML.
"""

import hashlib
import html
import json
from pathlib import Path

from ..arguments import one_of, whole
from ..errors import InputError
from .explorer import numbers
from .style import drawing

MOST = 8  # rows and columns of a matrix that is shown
LAYERS = (1, 2, 4, 6, 12)


@drawing
def shared_passes(x, w, dy, layers=4):
    """Play the passes of one block, x ← x + tanh(x w), and the gradient of w growing on the way back.

    x and dy: (T, H), w: (H, H). layers: one of 1, 2, 4, 6, 12, which the reader may change.
    """
    x, w, dy = (numbers(name, array) for name, array in (("x", x), ("w", w), ("dy", dy)))
    H = w.shape[0] if w.ndim == 2 else 0
    if x.ndim != 2 or w.shape != (H, H) or dy.shape != x.shape or x.shape[1] != H or not 0 < H <= MOST or not len(x):
        raise InputError(
            f"x and dy must be (T, H), w (H, H), H at most {MOST}: x {x.shape}, w {w.shape}, dy {dy.shape}"
        )
    one_of("layers", layers, LAYERS)
    data = {"x": x.tolist(), "w": w.tolist(), "dy": dy.tolist(), "L": int(layers)}
    return Moving("shared_passes", data, f"the passes of one block, {layers} at first")


@drawing
def masked_text(first, second, seed=0):
    """Show two halves of a text as the model reads them: in order or swapped, and masked. The reader may edit both."""
    for name, text in (("first", first), ("second", second)):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name} is {text!r}; it must be a text")
    whole("seed", seed, most=2**53 - 1)              # JavaScript's whole numbers end there
    return Moving("masked_text", {"texts": [first, second], "seed": seed}, "a text, swapped and masked")


@drawing
def lamb_beside_adam(tensors):
    """Play the steps of LAMB and AdamW. tensors: {name: (weights, gradients)}; gradients: (steps, *weights.shape)."""
    if not isinstance(tensors, dict) or not tensors:
        raise InputError(f"tensors is {tensors!r}; it must be {{name: (weights, gradients)}}")
    rows = []
    for name, (weights, gradients) in tensors.items():
        w, gradients = numbers(f"{name}'s weights", weights), numbers(f"{name}'s gradients", gradients)
        if gradients.shape[1:] != w.shape or not gradients.size or not w.any():
            raise InputError(
                f"{name} must have weights that are not all 0, and gradients (steps, *weights.shape): "
                f"{w.shape} and {gradients.shape}"
            )
        rows.append(
            {"name": str(name), "w": w.ravel().tolist(), "gradients": gradients.reshape(len(gradients), -1).tolist()}
        )
    if len({len(row["gradients"]) for row in rows}) > 1:
        raise InputError(f"all must have as many steps: {[len(row['gradients']) for row in rows]}")
    return Moving("lamb_beside_adam", {"tensors": rows}, f"LAMB's steps beside AdamW's, on {' and '.join(tensors)}")


class Moving:
    """The data of a picture that moves, which a notebook shows as HTML."""

    def __init__(self, name, data, what):
        self.name, self.data, self.what = name, data, what

    def __repr__(self):
        return f"A picture that moves: {self.what}; run this notebook in Jupyter, or open it on the site, to use it."

    def _repr_html_(self):
        data = json.dumps(self.data, separators=(",", ":")).replace("<", "\\u003c")  # no </script> within
        root = f"moving-{hashlib.sha256((self.name + data).encode()).hexdigest()[:12]}"
        script = "\n".join(Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
                           for name in ("moving", self.name))  # fmt: skip
        return (
            f'<div id="{root}" data-lm-suppress-shortcuts="true"><p>{html.escape(repr(self))}</p></div>\n'
            f'<script>\n(function () {{\n"use strict";\n{script}\nmount("{root}", {data});\n}})();\n</script>'
        )
