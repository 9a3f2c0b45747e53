"""The memory of a training step, predicted from the sizes, buffer by buffer.

Each layer keeps its own activations for the backward pass, even if it shares weights, so that sharing saves no memory
here. Recomputation does: it keeps each layer's input and computes the rest again in the backward pass, in buffers that
all layers use in turn.

Other buffers hold temporary results, once for all layers. Not in the tables are weights, gradients and moments
(`cost.optimiser_bytes`), ids and masks, and the tiles of a kernel, some hundred kilobytes.
"""

from typing import NamedTuple

from ..params import HEADS
from .formulas import evaluate, sizes


class Held(NamedTuple):
    """One or several buffers."""

    name: str
    formula: str                                     # how many numbers
    buffers: tuple                                   # by their names in `fast.workspace`


LAYER_INPUT = Held("layer input", "B T H", ("x",))
BLOCK = (
    LAYER_INPUT,
    Held("query, key, value", "3 B T H", ("qkv",)),
    Held("log-sums of scores", "B N T", ("lse",)),
    Held("context", "B T H", ("context",)),
    Held("attention norm", "B T H + B T", ("xhat_attention", "rstd_attention")),
    Held("feed-forward input", "B T H", ("y",)),
    Held("before GELU", "B T F", ("u",)),
    Held("feed-forward norm", "B T H + B T", ("xhat_ffn", "rstd_ffn")),
)
TRUNK = (
    Held("embedding norm", "B T E + B T", ("xhat_embeddings", "rstd_embeddings")),
    Held("last states", "B T H", ("x",)),
    Held("after GELU, its gradient", "B T F", ("g",)),
    Held("gradient of states", "B T H", ("d",)),
    Held("gradient of context", "B T H", ("dcontext",)),
    Held("gradient of query, key, value", "3 B T H", ("dqkv",)),
)
DROPPED = Held("gradient before dropout", "B T H", ("dh",))
PROJECTION = Held("projection input, its gradient", "2 B T E", ("embedded", "dembedded"))
MLM = (
    Held("masked states, their gradient", "2 B P H", ("words.x", "words.dx")),
    Held("before GELU", "B P E", ("words.u",)),
    Held("norm", "B P E + B P", ("words.xhat", "words.rstd")),
    Held("after the norm, its gradient", "2 B P E", ("words.y", "words.dy")),
    Held("log-sums of scores, losses", "2 B P", ("words.lse", "words.losses")),
)
SOP = (
    Held("first states, pooled, its gradient", "3 B H", ("order.first", "order.pooled", "order.dpooled")),
    Held("scores of orders", "2 B", ("order.logits",)),
)


def outside_layers(config, dropout=True, heads=HEADS):
    """The buffers that exist once, for any number of layers. `dropout`: does the step use dropout?"""
    held = [*TRUNK]
    held += [DROPPED] if dropout and config.hidden_dropout_prob else []
    held += [PROJECTION] if config.has_projection else []
    held += MLM if "mlm" in heads else []
    held += SOP if "sop" in heads else []
    return held


def held_bytes(table, config, B, T, P=None, itemsize=4):
    letters = sizes(config, B, T, P)
    return sum(evaluate(held.formula, letters) for held in table) * itemsize


def layer_bytes(config, B, T, itemsize=4, recompute=False):
    """The memory of one more layer."""
    return held_bytes([LAYER_INPUT] if recompute else BLOCK, config, B, T, None, itemsize)


def activation_bytes(config, B, T, P=None, itemsize=4, dropout=True, recompute=False, heads=HEADS):
    """The memory of a whole pretraining step."""
    layers = config.num_hidden_layers * layer_bytes(config, B, T, itemsize, recompute)
    used_in_turn = held_bytes(BLOCK[1:], config, B, T, None, itemsize) if recompute else 0
    return layers + used_in_turn + held_bytes(outside_layers(config, dropout, heads), config, B, T, P, itemsize)
