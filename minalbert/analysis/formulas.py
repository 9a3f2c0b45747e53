"""Counts written as the letters of the package: "E H + H" is E times H, plus H. One text to print and to compute."""

import math


def sizes(config, B=1, T=None, P=None):
    """What the letters stand for. P is 15 % of T unless given: as many words are masked in pretraining."""
    T = config.max_position_embeddings if T is None else T
    return {
        "B": B, "T": T, "P": max(1, round(0.15 * T)) if P is None else P,
        "V": config.vocab_size, "E": config.embedding_size, "M": config.max_position_embeddings,
        "S": config.type_vocab_size, "H": config.hidden_size, "F": config.intermediate_size,
        "N": config.num_attention_heads, "D": config.hidden_size // config.num_attention_heads,
        "L": config.num_hidden_layers,
    }  # fmt: skip


def evaluate(formula, sizes):
    return sum(
        math.prod(int(factor) if factor.isdigit() else sizes[factor] for factor in term.split())
        for term in formula.split(" + ")
    )


def shown(formula):
    return " + ".join("×".join(term.split()) for term in formula.split(" + "))
