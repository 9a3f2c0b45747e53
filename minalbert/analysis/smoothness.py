"""The distance and the angle between each layer's input and output, as in the paper's figure 1.

For a token with input x and output y in a layer, vectors of H numbers,

    distance = ‖y - x‖                  angle = arccos(x · y / ‖x‖ ‖y‖), in degrees

both averaged over tokens. `roughness` measures how much a curve over the layers goes up and down.

    states: L + 1 arrays (B, T, H), the input of each layer and the output of the last; attention_mask: (B, T)
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..arguments import array, as_array, of_kind
from ..backend import array_module, to_host
from ..errors import InputError


class Smoothness(NamedTuple):
    distances: np.ndarray                            # (L,)
    angles: np.ndarray                               # (L,) degrees


def smoothness(states, attention_mask=None):
    """Distances and angles of states on any device, as NumPy arrays in float64. Padding is left out."""
    states = [array(f"states[{number}]", x) for number, x in enumerate(of_kind("states", states, Iterable))]
    if len(states) < 2:
        raise InputError(f"{len(states)} state was given; a layer has two, its input and its output")
    xp = array_module(states[0])
    for number, x in enumerate(states):
        array(f"states[{number}]", x, states[0].shape)
    shape = states[0].shape[:-1]
    weights = xp.ones(shape)
    if attention_mask is not None:
        mask = attention_mask if hasattr(attention_mask, "dtype") else as_array("attention_mask", attention_mask)
        weights = array("attention_mask", xp.asarray(mask), shape) * 1.0
    total = weights.sum()
    pairs = [(distance(x, y), angle(x, y)) for x, y in pairwise(states)]
    means = xp.stack([xp.stack([(measure * weights).sum() / total for measure in pair]) for pair in pairs])
    return Smoothness(*to_host(means).T)


def distance(x, y):
    """x, y: (..., H) -> (...)"""
    return length(y.astype(np.float64) - x)


def angle(x, y):
    """x, y: (..., H) -> (...), from 0 to 180 degrees; 0 where one of them is zero and has no direction.

    For unit vectors u, v it is 2 atan2(‖u - v‖, ‖u + v‖): arccos(u · v) would lose half of the digits of small angles,
    because cos is flat at 0.
    """
    xp = array_module(x)
    x, y = x.astype(np.float64), y.astype(np.float64)
    longer, shorter = x * length(y)[..., None], y * length(x)[..., None]
    return xp.degrees(2 * xp.arctan2(length(longer - shorter), length(longer + shorter)))


def length(x):
    return array_module(x).sqrt((x * x).sum(axis=-1))


def roughness(values):
    """The mean distance of a value from the middle of its two neighbours. A straight line, however steep, has 0.

    The first and the last layer are left out, because their work is different.
    """
    inner = np.asarray(values)[1:-1]
    if len(inner) < 3:
        raise InputError(f"{len(values)} layers were given; without the first and the last, three must be left")
    return float(np.abs(inner[1:-1] - (inner[:-2] + inner[2:]) / 2).mean())
