"""The memory of a training step with fused kernels, predicted from the sizes, array by array.

Each layer keeps its own activations for the backward pass, whether or not it has weights of its own, so sharing saves
nothing here. Recomputation does: it keeps each layer's input, and the backward pass makes the rest again, one layer at
a time; or the input of every k-th layer, and k layers at a time. The last layer has fewer queries than tokens, those
that the losses read. Layers' inputs are kept as the xhat of the norm that made them, which its backward pass needs.

A pass has two stacks (`fused.arena`). The arena holds what the backward pass needs, and grows with the layers. The
scratch stack holds what one function needs while it runs; its size is that of the function that needs most. Not in
the tables: weights, gradients and moments (`cost.optimiser_bytes`), ids and masks, and what a kernel allocates while it
runs: tiles of some hundred kilobytes, a product of a weight's shape before it is added to the weight's gradient, and in
sparse attention copies of a tile's keys and values, and their gradients.
"""

from typing import NamedTuple

from ..params import HEADS
from .formulas import evaluate, sizes


class Held(NamedTuple):
    name: str
    formula: str                                     # how many numbers
    labels: tuple                                    # of these arrays in the arena or the scratch stack


def for_queries(table, config):
    """The last layer's table: all tokens' keys and values, but few queries; in tiles, the queries of all as well."""
    of_all = {"k", "v", "dk", "dv"} | ({"q", "lse", "context", "dq"} if config.attention != "full" else set())
    return [row if of_all & {*row.labels} else row._replace(formula=row.formula.replace("T", "Q")) for row in table]


def last_layer(config, letters):
    contexts = [Held("contexts read", "B Q H", ("context.read",))] if config.attention != "full" else []
    outputs = [Held("outputs of halves", "2 B Q H", ("y",))] if letters["Q"] > letters["T"] else []
    return [Held("queries' input", "B Q H", ("xq",)), *contexts, *for_queries(BLOCK, config), *outputs]


LAYER_INPUT = Held("layer input", "B T H", ("x",))
BLOCK = (
    Held("query", "B T H", ("q",)),
    Held("key, value", "2 B T H", ("k", "v")),
    Held("log-sums of scores", "B N T", ("lse",)),
    Held("context", "B T H", ("context",)),
    Held("attention norm", "B T H + B T", ("attention.xhat", "attention.rstd")),
    Held("before GELU", "B T F", ("u",)),
    Held("feed-forward norm", "B T H + B T", ("ffn.xhat", "ffn.rstd")),
)
EMBEDDINGS = (
    Held("embedding norm", "B T E + B T", ("embeddings.xhat", "embeddings.rstd")),
    Held("embeddings", "B T E", ("embeddings.y",)),
)
PROJECTED = Held("projected embeddings", "B T H", ("x",))
STATES = Held("a half's output", "B T H", ("y",))    # in one place, of all layers: backward has it again from the norm
MLM = (
    Held("masked states", "B P H", ("mlm.x",)),
    Held("before GELU", "B P E", ("mlm.u",)),
    Held("norm", "B P E + B P", ("mlm.xhat", "mlm.rstd")),
    Held("after the norm", "B P E", ("mlm.y",)),
    Held("log-sums of scores", "B P", ("mlm.lse",)),
)
SOP = (
    Held("first states, pooled", "2 B H", ("sop.first", "sop.pooled")),
    Held("scores of orders", "2 B", ("sop.logits",)),
)

DHIDDEN = Held("gradient of states", "B Q H", ("dhidden",))          # below all others from the losses on
DX = Held("gradient of the last layer's input", "B T H", ("dx",))    # above it, once the last layer is done
DROPPED = Held("gradient of dropout's output", "B T H", ("dh",))
ATTENTION_BACKWARD = (
    Held("gradient of context", "B T H", ("dcontext",)),
    Held("gradient of query", "B T H", ("dq",)),
    Held("gradients of key, value", "2 B T H", ("dk", "dv")),
)
FFN_BACKWARD = (Held("gradient before GELU", "B T F", ("du",)),)
EMBEDDINGS_BACKWARD = (Held("gradient of embeddings", "B T E", ("embeddings.dy",)),)
MLM_BACKWARD = (Held("gradients of masked states", "B P E + B P H", ("mlm.dy", "mlm.dx")),)
SOP_BACKWARD = (Held("gradients of pooled and first states", "2 B H", ("sop.dpooled", "sop.dfirst")),)


def scratch(config, B, T, P=None, dropout=True, heads=HEADS):
    """The scratch stack at its largest: what the backward function holds that holds most, above `DHIDDEN`.

    A forward function needs no more, even if it runs again in backward.
    """
    stacks = [*heads_backward(heads), *last_layer_backward(config, dropout)]
    stacks += [(DX, *half) for half in halves_backward(config, dropout)] if config.num_hidden_layers > 1 else []
    stacks += [(DX, *EMBEDDINGS_BACKWARD)] if config.has_projection else []
    return [DHIDDEN, *max(stacks, key=lambda stack: held_bytes(stack, config, B, T, P))]


def heads_backward(heads):
    """The stack of each head's backward function."""
    return [stack for name, stack in (("sop", SOP_BACKWARD), ("mlm", MLM_BACKWARD)) if name in heads]


def last_layer_backward(config, dropout):
    """The stacks of the last layer's two backward functions, which have few queries."""
    ffn, attention = (for_queries(stack, config) for stack in halves_backward(config, dropout))
    contexts = [Held("gradient of contexts", "B T H", ("dcontext of all",))] if config.attention != "full" else []
    return [ffn, (DX, *attention, *contexts)]


def halves_backward(config, dropout):
    """The stacks of a layer's two backward functions: the feed-forward's and the attention's."""
    dropped = [DROPPED] if dropout and config.hidden_dropout_prob else []
    return (*dropped, *FFN_BACKWARD), (*dropped, *ATTENTION_BACKWARD)


def outside_layers(config, B, T, P=None, dropout=True, heads=HEADS):
    """All arrays that exist once, however many layers there are, of both stacks.

    dropout: whether this step samples dropout masks
    """
    arena = [STATES, *EMBEDDINGS, *([PROJECTED] if config.has_projection else [])]
    arena += [*(MLM if "mlm" in heads else ()), *(SOP if "sop" in heads else ())]
    return arena + scratch(config, B, T, P, dropout, heads)


def held_bytes(table, config, B, T, P=None, itemsize=4):
    letters = sizes(config, B, T, P)
    return sum(evaluate(held.formula, letters) for held in table) * itemsize


def layer_bytes(config, B, T, itemsize=4, recompute=False):
    """The bytes that one more layer needs."""
    return held_bytes([LAYER_INPUT] if recompute else BLOCK, config, B, T, None, itemsize)


def last_together(config, recompute):
    """The number of layers that are made again together, the last layer among them."""
    return (config.num_hidden_layers - 1) % (recompute or 1) + 1


def layers_held(config, B, T, P=None, recompute=False):
    """[(arrays, how many layers keep them)]; with recomputation, layers' inputs and those layers made again at a time.

    The input of the first layer is the embeddings' output, which is not among them.
    """
    layers, last_of_all = config.num_hidden_layers, last_layer(config, sizes(config, B, T, P))
    if not recompute:
        return [(BLOCK, layers - 1), (last_of_all, 1)]
    inputs, last = -(-layers // recompute) - 1, last_together(config, recompute)
    together = [[(BLOCK, last - 1), (last_of_all, 1)], *([[(BLOCK, recompute)]] if inputs else [])]
    again = max(together, key=lambda held: held_by(held, config, B, T, P))
    return [([LAYER_INPUT], inputs), (for_queries([LAYER_INPUT], config), 1), *again]


def held_by(tables, config, B, T, P=None, itemsize=4):
    """The bytes of [(arrays, how many times)]."""
    return sum(count * held_bytes(table, config, B, T, P, itemsize) for table, count in tables)


def activation_bytes(config, B, T, P=None, itemsize=4, dropout=True, recompute=False, heads=HEADS):
    """The bytes that a whole pretraining step needs."""
    held = [*layers_held(config, B, T, P, recompute), (outside_layers(config, B, T, P, dropout, heads), 1)]
    return held_by(held, config, B, T, P, itemsize)
