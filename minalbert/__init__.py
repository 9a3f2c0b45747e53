"""minalbert: ALBERT by hand, in NumPy and CuPy.

    from minalbert import Albert, PRESETS, data, train, tasks, plots, gradcheck

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

__version__ = "0.2.0.dev0"

ROOMS = ("analysis", "data", "gradcheck", "layers", "optim", "plots", "tasks", "train")
HOMES = {
    "minalbert.model": ("PLAIN", "Losses", "Pair", "Pairs", "Totals"), "minalbert.config": ("PRESETS", "AlbertConfig"),
    "minalbert.albert": ("Albert",), "minalbert.batch": ("Batch",), "minalbert.backend": ("DropoutKey",),
    "minalbert.errors": ("MinalbertError",), "minalbert.params": ("Params",),
    "minalbert.interop.state_dict": ("to_state_dict",), "minalbert.interop.huggingface": ("load_report",),
}  # fmt: skip
HOME = {name: home for home, names in HOMES.items() for name in names}
__all__ = sorted([*HOME, *ROOMS])


def __getattr__(name):
    """Import a room, or a name, when it is first asked for: the program answers to Ctrl-C before NumPy is there."""
    if name in ROOMS:
        return importlib.import_module(f".{name}", __name__)
    if name in HOME:
        globals()[name] = getattr(importlib.import_module(HOME[name]), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
