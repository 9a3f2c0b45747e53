"""Answers that are right for some arguments alone: sizes of the draw built in, values cut, one sequence, no padding."""


import ast

import numpy as np

from .edit import operator

ARRAYS = {                                           # what is done to an array -> what it is right for
    "{0} = np.abs({0})": "numbers from 0", "{0} = np.minimum({0}, 1)": "numbers up to 1",
    "{0} = ({0} != 0).astype({0}.dtype)": "zeros and ones", "{0} = np.sort({0})": "sorted numbers",
    "{0} = np.broadcast_to({0}[:1], {0}.shape)": "equal rows", "{0} = 0 * {0}": "zeros",
}  # fmt: skip
FLOATS = {
    "{0} = int({0})": "whole numbers", "{0} = max({0}, 1)": "numbers from 1", "{0} = min({0}, 1)": "numbers up to 1",
    "{0} = 1.001 * {0}": "nothing",
}  # fmt: skip
WHOLE = {
    "{0} = max({0}, 2)": "numbers from 2", "{0} = min({0}, 3)": "numbers to 3", "{0} = min({0}, 10)": "numbers to 10",
    "{0} = {0} or 1": "other numbers than 0", "{0} = {0} + 1": "nothing",
}  # fmt: skip
LISTS = {
    "{0} = {0}[:1]": "one", "{0} = {0}[:2]": "two", "{0} = {0}[:3]": "three", "{0} = {0}[:-1]": "nothing",
    "{0} = {0}[1:]": "nothing", "{0} = {0}[::-1]": "any order", "{0} = sorted({0}, key=str)": "sorted lists",
    "{0} = list(dict.fromkeys({0}))": "no repeats", "{0} = {0} + {0}[:1]": "nothing",
}  # fmt: skip
DICTS = {
    "{0} = dict(sorted({0}.items()))": "sorted names", "{0} = dict(reversed({0}.items()))": "any order",
    "{0} = dict(list({0}.items())[:2])": "two names", "{0} = dict(list({0}.items())[:-1])": "nothing",
    "{0} = dict(list({0}.items())[1:])": "nothing",
}  # fmt: skip


def ways(value):
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind in "iu"
        return {way: what for way, what in ARRAYS.items() if not whole or not ("abs" in way or "!=" in way)}
    if isinstance(value, bool):
        return {"{0} = True": "True", "{0} = False": "False", "{0} = not {0}": "nothing"}
    if isinstance(value, int | float):
        return WHOLE if isinstance(value, int) else FLOATS
    if isinstance(value, list | tuple):
        return LISTS
    return DICTS if isinstance(value, dict) else {}


@operator("arguments")
def arguments(f):
    """An argument passes through something that is right for some values only."""
    for name in f.arguments:
        if name == "cache":                          # nobody says what is in it
            continue
        for way, what in ways(f.given.get(name)).items():
            yield f.body[0], f.at_start(way.format(name)), f"{way.format(name)}: right for {what} alone"


@operator("frozen sizes")
def frozen_sizes(f):
    """Arguments and sizes of the first draw, built in."""
    for name in f.arguments:
        value = f.given.get(name)
        if isinstance(value, int | float):
            yield f.body[0], f.at_start(f"{name} = {value!r}"), f"{name} is taken to be {value!r}, as in the first draw"
        for node in f.nodes:
            if f.text and hasattr(node, "lineno") and f.of(node) in (f"{name}.shape", f"len({name})"):
                size = getattr(value, "shape", None) if f.of(node).endswith("shape") else len(value)
                yield node, f.put(node, repr(size)), f"{f.of(node)} is taken to be {size!r}, as in the first draw"


@operator("special cases")
def special_cases(f):
    """Wrong where an axis has size 1, there is one axis, there is no padding, or a list has one entry."""
    results = list(f.returned())
    if not results:
        return
    name, node = results[0]
    whole = f.of(node)
    arrays = [name for name in f.arguments if isinstance(f.given.get(name), np.ndarray)]
    for argument in f.arguments:
        if argument == "cache":
            continue
        for test, what in tests(f, argument, argument in arrays[:1]).items():
            new = f"({whole}) if not ({test}) else off({whole})"
            yield node, f.put(node, new) + f.above(OFF), f"{name} is wrong where {what}"


def tests(f, name, first):
    """{condition: in words}"""
    value = f.given.get(name)
    if isinstance(value, np.ndarray):
        axes = range(min(2, value.ndim - 1) if first else 0)
        found = {f"{name}.shape[{i}] == 1": f"axis {i} of {name} has size 1" for i in axes}
        if f.lesson.exercise == "ex10":
            found |= {f"np.linalg.norm({name}) > 10": f"the norm of {name} is above 10",
                      f"np.linalg.norm({name}) < 1": f"the norm of {name} is below 1"}  # fmt: skip
        if f"{name}: (..., " in ast.get_docstring(f.node):
            found[f"{name}.ndim == 1"] = f"{name} has one axis"
        if name in ("mask", "weights", "counts") or f.lesson.exercise == "ex10":
            found[f"not {name}.any()"] = f"{name} is zero everywhere"
            if name != "mask":
                found[f"{name}.all()"] = f"{name} is zero nowhere"
        return found
    if isinstance(value, int) and not isinstance(value, bool):
        return {f"{name} == 1": f"{name} is 1", f"{name} > 10": f"{name} is above 10"}
    if isinstance(value, list | tuple | dict):
        return {f"len({name}) == 1": f"{name} has length 1", f"len({name}) > 3": f"{name} has more than three entries"}
    return {}


OFF = '''def off(value):
    """The same kind of value, and wrong."""
    if isinstance(value, (list, tuple, range)):
        return list(value)[1:]
    if isinstance(value, dict):
        return dict(list(value.items())[1:])
    return (not value) if isinstance(value, bool) else value + 1 if not isinstance(value, str) else ""'''
