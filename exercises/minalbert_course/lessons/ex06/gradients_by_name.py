"""Gradients by the names of weights, for exercise 6: a dict of them, or a list with a dict for each set of weights."""

import numpy as np

from ...block import ATTENTION_NAMES, FFN_NAMES
from ...compare import LIMIT, NOTHING, Wrong, numbers, shown
from ..matches import matches

DEEP = 10 * LIMIT                                    # through several layers float32 loses one digit more
KEY_BIAS = "attention.key.b"
ONE_DICT = "these are several dicts; one is asked for, with the sum over the layers that share"
MANY_DICTS = "this is one dict; one is asked for each set of weights, in a list"


def real(name, value, like):
    """As an array of the other's shape, or Wrong."""
    array = numbers(name, value, like.shape).astype(float)
    if array.shape != like.shape:
        raise Wrong(f"{name} has shape {array.shape}; it must be {like.shape}")
    return array


def by_name(what, gradients, weights):
    """Raise Wrong unless there is an array for each of the weights."""
    if not isinstance(gradients, dict):
        cause = NOTHING if gradients is None else ONE_DICT if isinstance(gradients, list | tuple) else None
        raise Wrong(f"{what} is {shown(gradients)}; it must be a dict with the names of the weights", cause)
    cause = why_other_names(set(weights), set(gradients))
    for name in weights:
        if name not in gradients:
            raise Wrong(f"{what} has no {name!r}; it must have every name of the weights", cause)
        numbers(f"{what}[{name!r}]", gradients[name], weights[name].shape)
    if more := [name for name in gradients if name not in weights]:
        raise Wrong(f"{what} has {shown(more[0])}, which is no name of the weights", cause)


def why_other_names(right, found):
    """A cause, or None."""
    halves = {"the attention's": ATTENTION_NAMES, "the FFN's": FFN_NAMES}
    missing, extra = right - found, found - right
    if not found:
        return "perhaps: no gradient is put into this dict"
    if missing and not extra and len(found) == 1:
        return "perhaps: each name gets a new dict, or the loop ends after the first"
    for whose, names in halves.items():
        if missing == set(names) & right != set():
            return f"perhaps: {whose} gradients are put nowhere, or somewhere else"
        if extra and not missing and extra <= set(names):
            return f"{whose} gradients do not belong here"
    return None


def list_by_name(what, gradients, sets):
    if not isinstance(gradients, list | tuple):
        cause = NOTHING if gradients is None else MANY_DICTS if isinstance(gradients, dict) else None
        raise Wrong(f"{what} is {shown(gradients)}; it must be a list of {len(sets)} dicts", cause)
    if len(gradients) != len(sets):
        cause = {0: "the list is empty: no dict was put into it", 1: "perhaps: one layer's dict alone is in the list",
                 len(sets) - 1: "perhaps: one layer's dict is left out of the list",
                 2 * len(sets): "perhaps: each layer's dict comes twice, or there are two caches for each",
                 }.get(len(gradients))  # fmt: skip
        raise Wrong(f"{what} has {len(gradients)} entries; it must have {len(sets)}: a dict for each set of weights",
                    cause)  # fmt: skip
    for i, weights in enumerate(sets):
        by_name(f"{what}[{i}]", gradients[i], weights)


def same_gradients(what, yours, expected, suspects, parts=None):
    """suspects: a function that gives {what went wrong: gradients by name, or a function that gives them}
    parts: {term: gradients by name}, which expected is the sum of

    The first that is wrong on the way back is reported, because others may follow from it.
    """
    largest = max(np.abs(array).max() for array in expected.values())
    for name in reversed(expected):
        size = np.abs(expected[name]).max()
        if name == KEY_BIAS:
            of_size = np.abs(real(f"{what}[{name!r}]", yours[name], expected[name])).max()
            if not of_size <= DEEP * (largest or 1):
                raise Wrong(
                    f"{what}[{name!r}] is {of_size:.3g} at its largest; it must be 0",
                    others(yours, expected, name)
                    or "one vector added to all keys changes no probability, so the key's bias has no gradient",
                )
            continue

        def suspected(name=name):
            ways = {says: value(given)[name] for says, given in suspects().items()}
            return ways | {f"this is the gradient of {other!r}": expected[other] for other in expected if other != name}

        limit = max(DEEP, 0.1 * LIMIT * largest / (size or largest or 1))    # and small ones more still
        terms = (lambda name=name: {term: array[name] for term, array in parts.items()}) if parts else None
        matches(f"{what}[{name!r}]", yours[name], expected[name], suspects=suspected, terms=terms, limit=limit)


def others(yours, expected, name):
    """Whose gradient stands under this name?"""
    given = np.asarray(yours[name], float)
    for other, array in expected.items():
        if array.shape == given.shape and np.abs(array).max() and np.allclose(given, array, rtol=0, atol=1e-6):
            return f"this is the gradient of {other!r}"
    return None


def of_passes(gradients):
    return {f"the gradient of layer {layer}, counted from 0,": part for layer, part in enumerate(gradients)}


def value(given):
    return given() if callable(given) else given
