"""The parameters of a model, part by part. All counts come from `params.shapes`, the table that models are built from.

ALBERT saves parameters in two places. The word table is V×E, with a projection E×H to the layers' width, instead of
V×H. And L layers share one set of weights, instead of having L sets.
"""

import math
from typing import NamedTuple

from ..config import PRESETS
from ..params import HEADS, count, shapes


class Part(NamedTuple):
    """A part of the model whose parameters are counted together."""

    name: str
    prefix: str                                      # of its tensors' names
    formula: str                                     # for one set; a test compares it with the shapes

    def numbers(self, config):
        """The number of parameters in all of its sets."""
        return sum(math.prod(shape) for name, shape in shapes(config).items() if name.startswith(self.prefix))

    def sets(self, config):
        """The number of sets of these weights."""
        _, _, kind = self.prefix.partition("encoder.")
        return config.groups(kind) if kind else 1


TRUNK = (
    Part("word table", "embeddings.word", "V E"),
    Part("position table", "embeddings.position", "M E"),
    Part("segment table", "embeddings.token_type", "S E"),
    Part("embedding norm", "embeddings.norm", "2 E"),
    Part("projection", "embeddings.projection", "E H + H"),
    Part("attention", "encoder.attention", "4 H H + 6 H"),
    Part("feed-forward", "encoder.ffn", "2 H F + F + 3 H"),
)
POOLER = Part("pooler", "pooler", "H H + H")
MLM = Part("masked-word head", "mlm", "H E + 3 E + V")
SOP = Part("sentence-order head", "sop", "2 H + 2")


def totals(config):
    """Parameters without heads, with the pooler, and with all heads."""
    return {
        "trunk": count(config, heads=()),
        "trunk_and_pooler": count(config, heads=("pooler",)),
        "everything": count(config, heads=HEADS),
    }


def shared(config):
    """The same model with one set of weights for all layers."""
    return config.replace(sharing="all", num_hidden_groups=1)


def unshared(config):
    """The same model with a set of weights for each layer."""
    return config.replace(sharing="none", num_hidden_groups=1)


def word_embedding(config):
    """Parameters that turn a word into H numbers: factorised, as in ALBERT, and with one table V×H."""
    table = shapes(config)
    V, _ = table["embeddings.word"]
    lookup = math.prod(table["embeddings.word"])
    step = math.prod(table.get("embeddings.projection.w", [0]))
    return {"table": lookup, "projection": step, "factorised": lookup + step, "one_table": V * config.hidden_size}


def layer_weights(config):
    """Parameters of all layers."""
    return sum(part.numbers(config) for part in TRUNK if part.prefix.startswith("encoder."))


def variants():
    """The twelve models of the paper's tables 3 and 4, by name: ALBERT-base with another E or less sharing."""
    choices = [(E, sharing) for sharing in ("none", "all") for E in (64, 128, 256, 768)]
    choices += [(E, sharing) for E in (768, 128) for sharing in ("attention", "ffn")]
    base = PRESETS["albert-base-v2"]
    return {f"E={E} sharing={sharing}": base.replace(embedding_size=E, sharing=sharing) for E, sharing in choices}
