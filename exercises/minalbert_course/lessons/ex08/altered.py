"""Lists that are right but for a simple change, the same one in every draw: whole numbers, or lists of them."""

import contextlib

from ...compare import EXPLAINING
from .chances import likely

BOTH = {                                             # of a number, or of every number in a list
    "{} + 1": lambda number: number + 1,
    "{} - 1": lambda number: number - 1,
    "-{}": lambda number: -number,
    "2 {}": lambda number: 2 * number,
    "zero for {}": lambda number: 0,
    "one for {}": lambda number: 1,
    "the square of {}": lambda number: number**2,
    "half of {}": lambda number: number // 2,
    "{} in one byte": lambda number: number & 255,
}
LISTS = {
    "{} in reverse order": lambda values: values[::-1],
    "{}, sorted,": sorted,
    "{} without the first": lambda values: values[1:],
    "{} without the last": lambda values: values[:-1],
    "{} without the first and the last": lambda values: values[1:-1],
    "{}, its first once more at the end,": lambda values: values + values[:1],
    "{}, twice,": lambda values: values + values,
    "the first of {} alone": lambda values: values[:1],
    "the first two of {} alone": lambda values: values[:2],
    "the first three of {} alone": lambda values: values[:3],
    "the last of {} alone": lambda values: values[-1:],
    "every other one of {}": lambda values: values[::2],
    "the first half of {}": lambda values: values[: len(values) // 2],
    "the first of {} in all places": lambda values: values[:1] * len(values),
    "the last of {} in all places": lambda values: values[-1:] * len(values),
    "{}, moved by one,": lambda values: values[-1:] + values[:-1],
    "{}, moved back by one,": lambda values: values[1:] + values[:1],
    "{} without repeats": lambda values: [part for i, part in enumerate(values) if part not in values[:i]],
    "nothing in the place of {}": lambda values: [],
}


def changes(value):
    """{words with a place for a name: the value, changed}; changes that cannot be made are left out."""
    ways = BOTH if isinstance(value, int) else LISTS if isinstance(value, list) else {}
    found = {}
    for says, change in ways.items():
        with contextlib.suppress(TypeError, IndexError):
            found[says] = change(value)
    if isinstance(value, list):
        found |= {f"{says}, in every list,": [change(part) for part in value]
                  for says, change in LISTS.items() if value and all(isinstance(part, list) for part in value)}
        found |= {says: each_number(value, change) for says, change in BOTH.items()}
    return found


def each_number(value, change):
    return [each_number(part, change) for part in value] if isinstance(value, list) else change(value)


def altered(name, pairs, function=None, arguments=()):
    """The change that gives, in every draw, what came back, of what is right or of an argument: in words, or None.

    pairs: [(found, right)], lists; arguments: of each pair {name: value}, with which the function gives what is right
    """
    if not EXPLAINING.get() or not told_apart(pairs):
        return None
    for says in changes(pairs[0][1]):
        if all(found == changes(right).get(says) for found, right in pairs):
            return f"this is {says.format(name).rstrip(',')}"
    for argument in arguments[0] if arguments else ():
        for says in changes(arguments[0][argument]):
            if all(found == with_changed(function, given, argument, says)
                   for (found, _), given in zip(pairs, arguments, strict=True)):  # fmt: skip
                return f"this is right for {says.format(argument).rstrip(',')}, in the place of {argument}"
    return None


def with_changed(function, given, argument, says):
    """What the function makes of the arguments with this change in one of them, or None where it stops."""
    try:
        return function(**given | {argument: changes(given[argument])[says]})
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def told_apart(pairs):
    """Do they say enough? Of a few numbers many things are right."""
    return sum(len(right) for found, right in pairs if found != right) >= 3


def exchanged_numbers(pairs, among):
    """In words, which number always stands in the place of one of these, if the rest is right; or None."""
    instead = {}
    for found, right in pairs:
        if len(found) != len(right):
            return None
        for mine, number in zip(found, right, strict=True):
            if instead.setdefault(number, mine) != mine:
                return None
    wrong = [number for number, mine in instead.items() if mine != number]
    if len(wrong) != 1 or wrong[0] not in among:
        return None
    return f"{instead[wrong[0]]} stands wherever {wrong[0]} must"


def other_number(counts, chances):
    """In words, which number is drawn in the place of another. counts: {number: draws}; chances: {number: of it}"""
    n, others = sum(counts.values()), [number for number in counts if number not in chances]
    if not n:
        return None
    missing = [number for number in chances if number not in counts]
    by_one = {"each is one too small": 1, "each is one too large": -1}
    for says, step in by_one.items():
        if all(number + step in chances for number in counts) and all(
                likely(counts.get(number - step, 0), n, p) for number, p in chances.items()):  # fmt: skip
            return says
    if len(others) == len(missing) == 1 and likely(counts[others[0]], n, chances[missing[0]]):
        return f"{others[0]:g} is drawn wherever {missing[0]:g} must be"
    return None
