"""The library's block as the variants of exercise 6 are given it: weights by name, heads and eps as numbers.

    y, cache     = block_forward(x, weights, mask, heads, eps)
    dx, dweights = block_backward(dy, cache)

x, y: (B, T, H)   mask: (B, 1, 1, T), added to the scores   weights: {"attention.query.w": (H, H), ...}, see NAMES
"""

from minalbert.config import AlbertConfig
from minalbert.model import encoder
from minalbert.params import ATTENTION, FFN, NORM

ATTENTION_NAMES = tuple(f"attention.{name}" for name in ATTENTION + NORM)
FFN_NAMES = tuple(f"ffn.{name}" for name in FFN + NORM)
NAMES = ATTENTION_NAMES + FFN_NAMES


def config_of(weights, heads, eps, layers=1, **sharing):
    """The configuration whose layers these are the weights of."""
    H, F = weights["ffn.up.w"].shape
    return AlbertConfig(
        embedding_size=H, hidden_size=H, intermediate_size=F, num_attention_heads=heads, num_hidden_layers=layers,
        layer_norm_eps=eps, hidden_act="gelu_new", **sharing,
    )  # fmt: skip


def block_forward(x, weights, mask, heads, eps):
    config = config_of(weights, heads, eps)
    params = {f"encoder.{name}": weights[name] for name in NAMES}
    y, cache = encoder.block_forward(x, 0, encoder.Context(params, mask, config))
    return y, (cache, config)


def block_backward(dy, cache):
    cache, config = cache
    dx, dffn = encoder.ffn_part_backward(dy, cache[1], config)
    dx, dattention = encoder.attention_part_backward(dx, cache[0])
    return dx, dict(zip(NAMES, dattention + dffn, strict=True))
