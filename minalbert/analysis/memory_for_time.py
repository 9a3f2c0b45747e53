"""Memory for time: what each way of training keeps for the backward pass, and what it computes twice for that.

A batch may be computed in parts, whose gradients add up: only one part's activations are there at a time. `Albert` does
so on a CPU (`parallel.slices`), one part for each thread; several slices need several vectors of gradients at a time.
What else there is concerns the activations of a part.

The ALBERT paper names two others beside its own (§2.1). Recomputation (Chen et al. 2016, arXiv:1604.06174) keeps the
input of every k-th layer; the rest is made again in backward, k layers at a time. That is L/k inputs and k layers,
least near k = √L where an input is as large as a layer; here a layer is ten inputs with fused kernels, more with
plain ones, and k = 1 needs less. Reversible layers (Gomez et al. 2017, arXiv:1707.04585) keep the last layer's input
alone and compute each input from the output (`model.reversible`). Both cost a second forward pass. Sharing saves
weights, gradients and moments, saves no activations, and costs no operation. So they add up.

With fused kernels `memory` says what a whole step holds. Plain kernels keep more, attention's probabilities above all;
the tables below are what their layers' caches hold, to the byte, without what a function needs in passing.
"""

import math
from typing import NamedTuple

from ..parallel import gradients_at_a_time
from ..parallel.slices import examples_together, slice_count
from . import cost, memory
from .memory import LAYER_INPUT, Held, for_queries, held_bytes, last_together


class Method(NamedTuple):
    name: str
    recompute: int                                   # as in Albert.loss_and_grads; 0: no
    reversible: bool
    in_parts: bool = False


def plain_layer(config, Q="T"):
    """What the plain pairs' caches hold of a layer, beside its input. Q: tokens with a query, fewer in the last."""
    return (
        *queries(config, Q),
        Held("attention norm", f"B {Q} H + B {Q}", ()),
        Held("feed-forward input", f"B {Q} H", ()),
        Held("before and after GELU", f"2 B {Q} F", ()),
        Held("feed-forward norm", f"B {Q} H + B {Q}", ()),
    )


def reversible_layer(config, Q="T"):
    """What a reversible layer makes again: the norms stand before the halves, so their output is kept instead."""
    return (
        Held("attention norm", "B T H + B T", ()),
        Held("attention input", "B T H", ()),
        *queries(config, Q),
        Held("feed-forward norm", f"B {Q} H + B {Q}", ()),
        Held("feed-forward input", f"B {Q} H", ()),
        Held("before and after GELU", f"2 B {Q} F", ()),
    )


def queries(config, Q):
    if config.attention != "full":
        return (
            Held("query", "B T H", ()),
            Held("keys and values of tiles", "2 B K H", ()),
            Held("context", f"B {Q} H", ()),
            Held("probabilities", "B N A", ()),
        )
    return (
        *([Held("queries' input", "B Q H", ())] if Q != "T" else []),
        Held("query, context", f"2 B {Q} H", ()),
        Held("key, value", "2 B T H", ()),
        Held("probabilities", f"B N {Q} T", ()),
    )


def masks(config, Q="T"):
    """Dropout's masks, a byte for each number."""
    halves = [Held("masks of halves", f"2 B {Q} H", ())] if config.hidden_dropout_prob else []
    scores = f"B N {Q} T" if config.attention == "full" else "B N A"
    return halves + ([Held("masks of probabilities", scores, ())] if config.attention_probs_dropout_prob else [])


def methods(config):
    """Keep all, of a batch or a part of it; recompute every layer; every k-th, with k near √L; reversible."""
    k = round(math.sqrt(config.num_hidden_layers))
    several = [Method(f"recompute {k} layers at a time", k, False)] if k > 1 else []
    return [
        Method("keep all", 0, False),
        Method("in parts, by one thread", 0, False, True),
        Method("recompute each layer", 1, False),
        *several,
        Method("reversible", 0, True),
    ]


def plain_layers_held(config, B, T, P=None, method=Method("keep all", 0, False)):
    """[(arrays, how many times, bytes of a number)]: inputs and output, and the caches that there are at a time.

    Caches are made for groups of k layers, from the last: keeping all, one group has all layers. The last group may be
    shorter, and its last layer has few queries, so either it or a group of k other layers holds most.
    """
    layers = config.num_hidden_layers
    k = 1 if method.reversible else method.recompute or layers
    inputs = min(2, layers) if method.reversible else -(-layers // k)
    layer = reversible_layer if method.reversible else plain_layer
    last_of_all = [(layer(config, "Q"), 1, None), (masks(config, "Q"), 1, 1)]

    def caches(count):
        return [(layer(config), count, None), (masks(config), count, 1)]

    def between(count):
        return [([LAYER_INPUT], count - 1, None)]

    shorter = last_together(config, k)
    groups = [[*caches(shorter - 1), *last_of_all, *between(shorter)]]
    groups += [[*caches(k), *between(k)]] if layers > k else []
    largest = max(groups, key=lambda held: plain_bytes(held, config, B, T, P))
    return [([LAYER_INPUT], inputs, None), (for_queries([LAYER_INPUT], config), 1, None), *largest]


def plain_bytes(held, config, B, T, P=None, itemsize=4):
    """The bytes of `plain_layers_held`."""
    return sum(count * held_bytes(table, config, B, T, P, size or itemsize) for table, count, size in held)


def table(config, B, T, P=None):
    """A row for each method: bytes of activations, of a whole step by fused kernels and of the layers by plain ones.

    gradients: how many vectors of them there are at a time
    """
    return [method._asdict() | needs(method, config, B, T, P) for method in methods(config)]


def needs(method, config, B, T, P):
    gradients = 1
    if method.in_parts:
        gradients = gradients_at_a_time(slice_count(B * T, B, config.hidden_size), workers=1)
        B = examples_together(B, T, config.hidden_size)
    fused = None if method.reversible else memory.activation_bytes(config, B, T, P, recompute=method.recompute)
    once = cost.training_operations(config, T, P)
    config = config.replace(reversible=method.reversible)
    return {
        "gradients": gradients,
        "activation_bytes": fused,
        "plain_bytes": plain_bytes(plain_layers_held(config, B, T, P, method), config, B, T, P),
        "operations": cost.training_operations(config, T, P, recompute=method.recompute) / once,
    }
