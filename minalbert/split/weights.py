"""Which rows or columns of the weights a rank has.

    query, key, value    w (H, H/R), b (H/R,)        columns: whole heads, N/R of them
    output               w (H/R, H)                  rows
    up                   w (H, F/R), b (F/R,)        columns
    down                 w (F/R, H)                  rows
    embeddings.word      (V/R, E)                    rows, and MLM's bias (V/R,): words, any number of them

All other tensors are whole on every rank. A share is a vector of its own, like a whole model's; checkpoints hold the
whole.
"""

from typing import Any, NamedTuple

from ..backend import to_host
from ..errors import ConfigError
from ..params import Params

AXES = {                                             # of a tensor, by the end of its name: the axis that is split
    **dict.fromkeys(("query.w", "key.w", "value.w", "up.w"), 1),
    **dict.fromkeys(("query.b", "key.b", "value.b", "up.b"), 0),
    **dict.fromkeys(("output.w", "down.w", "embeddings.word", "mlm.bias"), 0),
}


class ModelShare(NamedTuple):
    """What a rank computes with: a model's config, its share of the weights, the pairs for a share."""

    config: Any
    params: Params
    pairs: Any


def axis_of(name):
    """The axis along which a tensor is split, or None if every rank has all of it."""
    return AXES.get(".".join(name.split(".")[-2:]))


def place_of(name, shape, rank, size):
    """The index of a rank's share in the whole tensor."""
    axis = axis_of(name)
    if axis is None:
        return ...
    own = slice(shape[axis] * rank // size, shape[axis] * (rank + 1) // size)
    return (*[slice(None)] * axis, own)


def share_of(params, rank, size):
    """A copy of a rank's share of the whole Params."""
    whole = params.to("cpu", copy=False)
    own = {name: tensor[place_of(name, tensor.shape, rank, size)] for name, tensor in whole.items()}
    return Params.from_arrays(own, {name: tensor.shape for name, tensor in own.items()}, params.dtype, params.device)


def whole_of(own, shapes, ranks):
    """The whole Params, on every rank, of all ranks' shares. shapes: those of the whole"""
    whole = Params.zeros(shapes, own.dtype)
    for rank, flat in enumerate(ranks.gather(to_host(own.flat))):
        places = {name: place_of(name, shape, rank, ranks.size) for name, shape in shapes.items()}
        share = Params(flat, {name: whole[name][places[name]].shape for name in shapes})
        for name in shapes:
            whole[name][places[name]] = share[name]
    return whole.to(own.device, copy=False)


def check_split(config, size):
    """Raise ConfigError unless so many ranks can share a model of this config evenly."""
    for name in ("num_attention_heads", "intermediate_size"):
        width = getattr(config, name)
        if width % size:
            raise ConfigError(f"model_ranks is {size}; {name}, which is {width}, must be a multiple of it")
    if size > 1 and config.reversible:
        raise ConfigError(f"model_ranks is {size}; a model with reversible layers cannot be split: it must be 1")
