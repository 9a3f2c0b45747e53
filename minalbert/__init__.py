"""minalbert: ALBERT by hand, in NumPy and CuPy.

    from minalbert import Albert, PRESETS, data, train, plots, gradcheck

The letters that name a dimension, everywhere:

    B  sequences in a batch         V  words in the vocabulary      N  attention heads
    T  tokens in a sequence         E  width of an embedding        D  width of a head, H / N
    P  predictions per sequence     H  width of a hidden state      L  layers
    M  positions the model knows    F  width inside the FFN, 4 H    G  groups of layers that share weights

Two losses are trained: MLM, masked language modelling (which word stood here?), and SOP, sentence-order
prediction (which of two segments came first?).

Read `layers` first (the mathematics), then `model` (the layers put together), then `params`.
"""

import importlib

from .albert import Albert
from .backend import DropoutKey
from .batch import Batch
from .config import PRESETS, AlbertConfig
from .errors import MinalbertError
from .model import PLAIN, Losses, Pair, Pairs, Totals
from .params import Params

__version__ = "0.2.0.dev0"

ROOMS = ("analysis", "data", "gradcheck", "layers", "optim", "plots", "train")
LAZY = {"to_state_dict": "minalbert.interop.state_dict", "load_report": "minalbert.interop.huggingface"}
__all__ = [
    "PLAIN", "PRESETS", "Albert", "AlbertConfig", "Batch", "DropoutKey", "Losses", "MinalbertError", "Pair", "Pairs",
    "Params", "Totals", *LAZY, *ROOMS,
]  # fmt: skip


def __getattr__(name):
    """Import a room, or what reads files, when it is first asked for."""
    if name in ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in LAZY:
        return getattr(importlib.import_module(LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
