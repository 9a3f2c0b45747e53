"""Functions of an array to differentiate."""

import functools

import numpy as np

from ..given import maker


def waves(a, offset, scale, x):
    """scale (Σ a sin(x) + (Σ x²)² / 8) + offset: no derivative of it is zero, and every entry feels the others."""
    return scale * ((a * np.sin(x)).sum() + (x * x).sum() ** 2 / 8) + offset


def squire_trapp(x):
    return (np.exp(x) / (np.sin(x) ** 3 + np.cos(x) ** 3)).sum()


def ripples(x):
    """Σ sin(10000 x): a step of 0.0001 is a wide one."""
    return np.sin(10000 * x).sum()


FUNCTIONS = {"waves": waves, "ripples": ripples, "squire_trapp": squire_trapp}
MADE = {}


@maker("function")
def function(name, *coefficients):
    """array -> number: one of those above, and the same object for the same coefficients."""
    key = (name, *(np.asarray(part).tobytes() for part in coefficients))
    return MADE.setdefault(key, functools.partial(FUNCTIONS[name], *coefficients))


@maker("shared array")
def shared_array(array):
    """One array object for equal numbers: `f` and its caller get the same one."""
    return MADE.setdefault(("array", array.shape, array.tobytes()), array)


@maker("function of the shared array")
def function_of_the_shared_array(array):
    """x -> Σ x a, where a is the shared array, perhaps the very x that is passed"""
    array = shared_array(array)
    return lambda x: (x * array).sum()


@maker("one array")
def one_array(names, array):
    """A dict in which each name has the very same array."""
    return dict.fromkeys(names, array)
