"""Other values that are as like the first as can be: of its type and shape, and at first of the same numbers."""

import itertools

import numpy as np

from .given import Given
from .values import parts

MANY = 16                                            # numbers; a key may be made of the first few


def places(value, path=()):
    """The paths to what can be changed alone: arrays, numbers, texts, lists of these, and what dicts hold."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if holds_arrays(value) else ()
    if not holds_arrays(value):
        yield path
    for key, part in inner:
        yield from places(part, (*path, key))


def holds_arrays(value):
    return any(isinstance(part, np.ndarray) or holds_arrays(part) for part in parts(value))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(value, path, part):
    """The value with another part at the end of the path."""
    if not path:
        return part
    if isinstance(value, dict):
        return value | {path[0]: replaced(value[path[0]], path[1:], part)}
    return type(value)(replaced(old, path[1:], part) if i == path[0] else old for i, old in enumerate(value))


def changes(value):
    """What may stand in its place, in the order in which that is tried."""
    if isinstance(value, np.ndarray):
        yield from of_array(value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 2 * value) if value > 1 else (value + 1,)
    elif isinstance(value, float):
        yield 0.75 * value if value else 0.5
    elif isinstance(value, str):
        yield from map("".join, of_row(list(value)))
    elif isinstance(value, dict):
        yield from of_dict(value)
    elif isinstance(value, Given) and value.kind == "function":
        name, *coefficients = value.args
        for part in changes(coefficients[0]) if coefficients else ():
            yield Given.of("function", name, part, *coefficients[1:])
    elif type(value) in (list, tuple):
        yield from [shifted(value)] if any(isinstance(part, list | tuple) for part in value) else []
        yield from map(type(value), of_row(list(value)))


def of_dict(value):
    """Two whole numbers have each other's keys, first those whose ratio is least: a number of layers stays small."""
    sizes = sorted((part, key) for key, part in value.items() if is_whole(part) and part > 0)
    pairs = [(one, other) for one, other in itertools.pairwise(sizes) if one[0] < other[0]]
    for (_, one), (_, other) in sorted(pairs, key=lambda pair: pair[1][0] / pair[0][0]):
        exchanged = {one: other, other: one}
        yield {exchanged.get(key, key): part for key, part in value.items()}


def of_row(items):
    """Two neighbours change places: the last two that differ, then pairs further in front. At last all are reversed."""
    for i in range(len(items) - 1, 0, -1):
        if items[i] != items[i - 1]:
            yield [*items[: i - 1], items[i], items[i - 1], *items[i + 1 :]]
    yield items[::-1]


def shifted(value):
    """Lists of whole numbers, each number one larger."""
    return type(value)(map(shifted, value)) if type(value) in (list, tuple) else value + 1 if is_whole(value) else value


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def of_array(x):
    return (numbers.reshape(x.shape) for numbers in of_numbers(x.ravel()))


def of_numbers(row):
    """The smallest and the largest change places, neither of them first or last, and of many those of the second half;
    the smallest gets some of the largest; all are in reverse order; floats are smaller."""
    inside = np.arange(len(row))[len(row) // 2 if len(row) > MANY else 1 : -1] if len(row) > 3 else np.arange(len(row))
    if not len(inside):
        return
    least, most = inside[row[inside].argmin()], inside[row[inside].argmax()]
    if row[least] == row[most] == 1:                 # where all are yes, one is no
        yield with_numbers(row, {most: 0})
    if row[least] != row[most]:
        yield with_numbers(row, {least: row[most], most: row[least]})
        if row.dtype.kind in "iu" and row[most] - row[least] > 1:
            yield with_numbers(row, {least: row[least] + 1, most: row[most] - 1})
        yield row[::-1].copy()
    if row.dtype.kind == "f" and not is_yes_or_no(row):
        yield 0.75 * row


def is_yes_or_no(row):
    """Has it two values at most, of which one is zero, as masks have?"""
    return (row == 0).any() and len(np.unique(row)) <= 2


def with_numbers(row, numbers):
    row = row.copy()
    for place, number in numbers.items():
        row[place] = number
    return row
