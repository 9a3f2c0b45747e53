"""minalbert: ALBERT by hand, in NumPy and CuPy.

The letters that name a dimension, everywhere:

    B  sequences in a batch         V  words in the vocabulary      N  attention heads
    T  tokens in a sequence         E  width of an embedding        D  width of a head, H / N
    P  predictions per sequence     H  width of a hidden state      L  layers
    M  positions the model knows    F  width inside the FFN, 4 H    G  groups of layers that share weights

Two losses are trained: MLM, masked language modelling (which word stood here?), and SOP, sentence-order
prediction (which of two segments came first?).

Read `layers` first (the mathematics), then `model` (the parts put together), then `params`.
"""

from .albert import Albert
from .backend import DropoutKey
from .batch import Batch
from .config import PRESETS, AlbertConfig
from .model import Losses, Totals
from .params import Params

__version__ = "0.1.0"
__all__ = ["PRESETS", "Albert", "AlbertConfig", "Batch", "DropoutKey", "Losses", "Params", "Totals"]
