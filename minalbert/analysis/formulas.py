"""Counts as formulas in the letters of the package: "E H + H" is E times H, plus H. They are printed and computed."""

import math

import numpy as np

from ..arguments import of_kind, whole
from ..config import AlbertConfig
from ..layers.sparse_attention import tiles
from ..model.block import pattern_of


def sizes(config, B=1, T=None, P=None):
    """The values of the letters. If no P is given, it is 15 % of T, as many words as pretraining masks.

    Q = 1 + P tokens are read by the losses: [CLS] and the masked ones. Sparse attention computes A scores for a
    head and a sequence, where full attention computes T T; the keys of its tiles are K in all.
    """
    of_kind("config", config, AlbertConfig)
    for name, value, least in (("B", B, 1), ("T", T, 1), ("P", P, 0)):
        if value is not None:
            whole(name, value, least)
    T = config.max_position_embeddings if T is None else T
    P = max(1, round(0.15 * T)) if P is None else P
    return {
        "B": B, "T": T, "P": P, "Q": 1 + P,
        "V": config.vocab_size, "E": config.embedding_size, "M": config.max_position_embeddings,
        "S": config.type_vocab_size, "H": config.hidden_size, "F": config.intermediate_size,
        "N": config.num_attention_heads, "D": config.hidden_size // config.num_attention_heads,
        "L": config.num_hidden_layers, **in_tiles(pattern_of(config), T),
    }  # fmt: skip


def in_tiles(pattern, T):
    if pattern is None:
        return {}
    cut = tiles(pattern, T, np)
    return {"A": sum(tile.hidden.size for tile in cut), "K": sum(len(tile.keys) for tile in cut)}


def evaluate(formula, sizes):
    """The value of a formula."""
    return sum(
        math.prod(int(factor) if factor.isdigit() else sizes[factor] for factor in term.split())
        for term in formula.split(" + ")
    )


def shown(formula):
    """A formula as it is printed: E×H + H."""
    return " + ".join("×".join(term.split()) for term in formula.split(" + "))
