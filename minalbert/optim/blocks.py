"""Blocks of a vector that stay in the cache, and the checks that both optimisers share.

A step is some 16 operations on each weight. If each of them runs over all weights, it reads its vectors from memory
and writes them back, and that takes longer than the arithmetic. If all 16 run over BLOCK weights at a time, all but the
first find their vectors in the cache.

The call itself takes half a microsecond, as long as the arithmetic on thousands of weights, and a bias has 64. So short
tensors that are neighbours in the vector form a run, which is one block. Decay and LAMB's norms are each tensor's own:
they need its part of the block.

    vector    word                              position   token_type   norm.gain   norm.bias ...
    runs      one long tensor                   several short ones
    blocks    65536   65536   65536   3 ...     one

On a GPU, where launching an operation takes longer than reading memory, a run is a tensor, and its only block.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..arguments import flag, is_number, number, of_kind, refusal, whole
from ..backend import array_module
from ..errors import ConfigError
from ..params import Params

BLOCK = 65536                                        # 256 KiB of float32


class Moments(NamedTuple):
    """Running means of each weight's gradient and of its square."""

    m: Params
    v: Params

    @classmethod
    def zeros(cls, params):
        of_kind("params", params, Params)
        return cls(params.zeros_like(), params.zeros_like())


def exempt(name, tensor):
    """Is the tensor exempt from decay and from LAMB's ratio? Biases and the gains of norms are."""
    return tensor.ndim == 1


def runs(params, only=None):
    """(its place in the vector, {name: the tensor's part of it}) for each run of all tensors, or of those in `only`."""
    names = {*(params if only is None else chosen(params, only))}
    longest = BLOCK if array_module(params.flat) is np else 0
    parts, first, stop = {}, 0, 0
    for name, tensor in params.items():
        start, stop = stop, stop + tensor.size
        if parts and (name not in names or stop - first > longest):
            yield slice(first, start), parts
            parts = {}
        if name in names:
            first = first if parts else start
            parts[name] = slice(start - first, stop - first)
    if parts:
        yield slice(first, stop), parts


def chosen(params, only):
    """The names of `only`, in the order of params."""
    if isinstance(only, str) or not isinstance(only, Iterable):
        example = only if isinstance(only, str) else "sop."
        raise refusal("only", only, f"a collection of names, such as params.select({example!r}).names", ConfigError)
    wanted = set(only)
    for name in wanted:
        params[name]                                 # a name that is not there is an error
    return [name for name in params if name in wanted]


def blocks(*vectors):
    """Corresponding blocks of the vectors, one after the other."""
    whole = len(vectors[0])
    length = BLOCK if array_module(vectors[0]) is np else max(whole, 1)
    for start in range(0, whole, length):
        yield [x[start : start + length] for x in vectors]


def scratch(params, *kinds):
    """Vectors to write into, each as long as the longest "block" or the longest "run"."""
    xp, longest = array_module(params.flat), max(tensor.size for tensor in params.values())
    block = min(params.flat.size, BLOCK) if xp is np else longest
    lengths = {"run": max(longest, block), "block": block}
    return [xp.empty(lengths[kind], params.dtype) for kind in kinds]


def as_factor(scale, params):
    """What to multiply gradients by, in the dtype of params, because a float64 would widen them; None instead of 1."""
    one = isinstance(scale, float | int) and scale == 1
    return None if one else array_module(params.flat).asarray(scale, dtype=params.dtype)


def check(params, grads, moments, rate, t, scale):
    """Raise one sentence for what a step cannot take: a rate that is no number would destroy the weights."""
    for name, value, kind in (("params", params, Params), ("grads", grads, Params), ("moments", moments, Moments)):
        of_kind(name, value, kind, ConfigError)
    number("rate", rate, least=0, error=ConfigError)
    if getattr(scale, "ndim", None) != 0:            # a factor on a GPU is not fetched to be looked at
        number("scale", scale, least=0, error=ConfigError)
    whole("t", t, 1, error=ConfigError)
    if params.dtype not in (np.float32, np.float64):
        raise ConfigError(f"the weights are {params.dtype}; an optimiser needs float32 or float64")
    for what, other in (("gradients", grads), ("first moments", moments.m), ("second moments", moments.v)):
        if other.shapes != params.shapes or other.dtype != params.dtype or other.device != params.device:
            raise ConfigError(f"the {what} are {other!r}; to fit the weights they must be {params!r}")


def check_settings(settings):
    betas = settings.betas
    if not (isinstance(betas, tuple | list) and len(betas) == 2 and all(is_number(b) and 0 <= b < 1 for b in betas)):
        raise refusal("betas", betas, "two numbers, each at least 0 and less than 1", ConfigError)
    object.__setattr__(settings, "betas", tuple(betas))
    for name in ("eps", "weight_decay"):
        number(name, getattr(settings, name), least=0, error=ConfigError)
    flag("bias_correction", settings.bias_correction, ConfigError)
