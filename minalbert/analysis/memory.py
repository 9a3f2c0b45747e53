"""What the forward pass keeps for the backward pass: counted in a real cache, and predicted from the sizes.

Each layer keeps its own activations, whosever weights it used, so sharing saves nothing here. What saves is
recomputation: keep each layer's input, and make the rest again when backward comes by.

The tables below have a row for every array that is kept. The word table and the other weights a cache points
to are not in them. Whole numbers take 8 bytes, a dropout coin 1.
"""

from typing import NamedTuple

from ..params import HEADS
from .formulas import evaluate, sizes

WHOLE_NUMBER, COIN = 8, 1


class Kept(NamedTuple):
    name: str
    formula: str                                     # how many numbers
    itemsize: int | None = None                      # bytes of each; None: a floating-point number
    dropout: str | None = None                       # the rate without which there is no such array


BLOCK = (
    Kept("layer input", "B T H"),
    Kept("query, key, value", "3 B T H"),
    Kept("probabilities", "B N T T"),
    Kept("dropout mask", "B N T T", COIN, "attention_probs_dropout_prob"),
    Kept("context", "B T H"),
    Kept("dropout mask, attention", "B T H", COIN, "hidden_dropout_prob"),
    Kept("attention norm", "B T H + B T"),           # xhat, rstd
    Kept("feed-forward input", "B T H"),
    Kept("before GELU", "B T F"),
    Kept("after GELU", "B T F"),
    Kept("dropout mask, feed-forward", "B T H", COIN, "hidden_dropout_prob"),
    Kept("feed-forward norm", "B T H + B T"),
)
RECOMPUTED_BLOCK = BLOCK[:1]
MASK = Kept("key mask", "B T")

EMBEDDINGS = (
    Kept("token and segment ids", "2 B T", WHOLE_NUMBER),
    Kept("embedding norm", "B T E + B T"),
    Kept("dropout mask", "B T E", COIN, "hidden_dropout_prob"),
)
PROJECTION = Kept("projection input", "B T E")

MLM = (
    Kept("masked rows", "B P", WHOLE_NUMBER),
    Kept("masked hidden states", "B P H"),
    Kept("before GELU", "B P E"),
    Kept("norm", "B P E + B P"),
    Kept("after the norm", "B P E"),
    Kept("log-probabilities of words", "B P V"),
    Kept("labels", "B P", WHOLE_NUMBER),
    Kept("shares of the loss", "B P"),
)
SOP = (
    Kept("last hidden states", "B T H"),             # only [:, 0] is read; the view keeps the whole array
    Kept("pooled", "B H"),
    Kept("log-probabilities of orders", "2 B"),
    Kept("labels", "B", WHOLE_NUMBER),
    Kept("shares of the loss", "B"),
)


def rows(table, config, B, T, P=None, itemsize=4, dropout=True):
    """(name, bytes) for every row of a table. `dropout`: whether the pass throws the configuration's coins."""
    letters = sizes(config, B, T, P)
    return [
        (kept.name, evaluate(kept.formula, letters) * (kept.itemsize or itemsize))
        for kept in table
        if kept.dropout is None or (dropout and getattr(config, kept.dropout) > 0)
    ]


def table_bytes(table, config, B, T, P=None, itemsize=4, dropout=True):
    return sum(size for _, size in rows(table, config, B, T, P, itemsize, dropout))


def predicted_block_bytes(config, B, T, itemsize=4, dropout=True, recompute=False):
    """What one layer keeps."""
    return table_bytes(RECOMPUTED_BLOCK if recompute else BLOCK, config, B, T, None, itemsize, dropout)


def predicted_encoder_bytes(config, B, T, itemsize=4, dropout=True, recompute=False):
    block = predicted_block_bytes(config, B, T, itemsize, dropout, recompute)
    return config.num_hidden_layers * block + table_bytes([MASK], config, B, T, None, itemsize)


def predicted_cache_bytes(config, B, T, P=None, itemsize=4, dropout=True, recompute=False, heads=HEADS):
    """What the whole pretraining step keeps, from the ids to the losses."""
    outside = [*EMBEDDINGS]
    outside += [PROJECTION] if config.has_projection else []
    outside += MLM if "mlm" in heads else []
    outside += SOP if "sop" in heads else []
    encoder = predicted_encoder_bytes(config, B, T, itemsize, dropout, recompute)
    return encoder + table_bytes(outside, config, B, T, P, itemsize, dropout)


def predicted_recompute_peak(config, B, T, P=None, itemsize=4, dropout=True, heads=HEADS):
    """The most that is kept at a time with recomputation: all inputs, and what one layer has made of its own."""
    inputs = predicted_cache_bytes(config, B, T, P, itemsize, dropout, True, heads)
    return inputs + table_bytes(BLOCK[1:], config, B, T, None, itemsize, dropout)


def cache_bytes(cache, params):
    """What a real cache keeps alive: every array's own buffer once, however many views of it are kept."""
    buffers = {id(buffer): buffer for buffer in map(_buffer, _arrays(cache))}
    buffers.pop(id(_buffer(params.flat)), None)
    return sum(buffer.nbytes for buffer in buffers.values())


def _arrays(cache):
    if isinstance(cache, tuple | list):
        for item in cache:
            yield from _arrays(item)
    elif hasattr(cache, "nbytes"):
        yield cache


def _buffer(array):
    while hasattr(array.base, "nbytes"):
        array = array.base
    return array
