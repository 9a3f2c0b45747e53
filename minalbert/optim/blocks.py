"""A long vector in pieces that stay in the cache while all is done to them, and what both optimisers ask for.

A step does some 16 things to each weight. One after the other over millions of weights, each of them fetches its
vectors from memory and puts them back, and waits for that longer than it computes. Done to BLOCK weights at a time,
all but the first find them in the cache. On a GPU, where starting an operation costs more than fetching, a block is
a whole tensor. No block is part of two tensors, for LAMB asks for each tensor's norm.
"""

import math
from numbers import Real
from typing import NamedTuple

import numpy as np

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
        return cls(params.zeros_like(), params.zeros_like())


def exempt(name, tensor):
    """From decay and from LAMB's ratio: biases, and the gains of the norms."""
    return tensor.ndim == 1


def tensors(params, grads, moments):
    """name, and its [w, g, m, v] as vectors."""
    for name in params:
        yield name, [kind[name].reshape(-1) for kind in (params, grads, *moments)]


def blocks(*vectors):
    """The same stretch of each, block after block."""
    whole = len(vectors[0])
    length = BLOCK if array_module(vectors[0]) is np else max(whole, 1)
    for start in range(0, whole, length):
        yield [x[start : start + length] for x in vectors]


def scratch(params, *kinds):
    """Vectors to write into: as long as the longest "block" or the longest "tensor"."""
    xp, longest = array_module(params.flat), max(tensor.size for tensor in params.values())
    lengths = {"tensor": longest, "block": min(longest, BLOCK) if xp is np else longest}
    return [xp.empty(lengths[kind], params.dtype) for kind in kinds]


def check(params, grads, moments, t):
    if params.dtype not in (np.float32, np.float64):
        raise ConfigError(f"the weights are {params.dtype}; an optimiser needs float32 or float64")
    for what, other in (("gradients", grads), ("first moments", moments.m), ("second moments", moments.v)):
        if other.shapes != params.shapes or other.dtype != params.dtype or other.device != params.device:
            raise ConfigError(f"the {what} are {other!r}; to fit the weights they must be {params!r}")
    if t < 1:
        raise ConfigError(f"step t is {t}; the first is 1")


def is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_settings(settings):
    betas = settings.betas
    if not (isinstance(betas, tuple | list) and len(betas) == 2 and all(is_number(b) and 0 <= b < 1 for b in betas)):
        raise ConfigError(f"betas is {betas!r}; it must be two numbers, each at least 0 and less than 1")
    object.__setattr__(settings, "betas", tuple(betas))
    for name in ("eps", "weight_decay"):
        value = getattr(settings, name)
        if not (is_number(value) and value >= 0):
            raise ConfigError(f"{name} is {value!r}; it must be a number, at least 0")
    if not isinstance(settings.bias_correction, bool):
        raise ConfigError(f"bias_correction is {settings.bias_correction!r}; it must be True or False")
