"""What the functions of a pass share: the context they are given, and which functions they are.

A pass is one walk through the model, forward and back, of a batch or a slice of it. Five steps of it are
exchangeable, each a pair:

    embeddings        x, cache = forward(input_ids, token_type_ids, ctx)         (B, T) -> (B, T, H)
                      backward(dx, cache, ctx, grads)
    attention_half    y, cache = forward(x, layer, ctx, positions)               norm(x + attention(x))
    ffn_half          y, cache = forward(x, layer, ctx)                          norm(x + down(gelu(up(x))))
                      dx = backward(dy, cache, ctx, grads), of both halves
    mlm_loss          loss, cache = forward(hidden, batch, total, ctx)           the masked words
    sop_loss          backward(dloss, cache, ctx, grads, dhidden)                the segments' order

`positions` (B, Q) are those whose output is wanted, or None for all; the last layer is asked for those that the losses
read: hidden (B, 1 + P, H) is that of [CLS] and the masked positions. Each backward function adds to `grads`, those of
the losses also to `dhidden`.

`PLAIN` (in `model/__init__.py`) has the pairs of this folder. For functions of your own, replace some of them:

    pairs = PLAIN._replace(attention_half=Pair(my_forward, my_backward))
    model = Albert.init(PRESETS["tiny"], pairs=pairs)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..backend import DropoutKey, array_module
from ..layers import key_mask
from ..params import half_name


class Pair(NamedTuple):
    forward: Callable
    backward: Callable


class Context(NamedTuple):
    """What every pair is given beside its input."""

    config: Any                                      # AlbertConfig
    params: Any                                      # name -> array
    mask: Any                                        # (B, 1, 1, T), added to the attention scores
    key: DropoutKey | None                           # which dropout masks; without a key nothing is dropped
    pairs: "Pairs"                                   # the five pairs of this pass

    def weights(self, half, layer, names):
        """The tensors of a layer's "attention" or "ffn" half, which several layers may share."""
        prefix = half_name(self.config, half, layer)
        return [self.params[f"{prefix}.{name}"] for name in names]

    def key_at(self, **place):
        return self.key and self.key.at(**place)

    # How arrays of activations are made and kept. Fused passes have memory of their own, and do more here.

    def zeros_like(self, x):
        return array_module(x).zeros_like(x)

    def to_params_dtype(self, x):
        return x

    def from_params_dtype(self, x):
        return x

    def mark(self):
        """A place in the pass's memory, for `release`."""
        return

    def release(self, mark, keep=None):
        """Free what was kept since the mark, except for one array, which is returned."""
        return keep


def plain_context(pairs, config, params, attention_mask, key=None, memory=None):
    mask = key_mask(attention_mask, params["embeddings.word"].real.dtype)
    return Context(config, params, mask, key, pairs)


def no_memory(params):
    return None


class Pairs(NamedTuple):
    """An implementation of the model: five pairs with the same arguments and results, whoever wrote them."""

    embeddings: Pair
    attention_half: Pair
    ffn_half: Pair
    mlm_loss: Pair
    sop_loss: Pair
    context: Callable = plain_context                # (pairs, config, params, attention_mask, key, memory) -> ctx
    memory: Callable = no_memory                     # (params) -> memory that passes use one after the other
