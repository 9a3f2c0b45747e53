"""The calls of a check: which can be made again, which call made another's cache, and which are of one form."""

import math

import numpy as np

from .given import GENERATORS, Given
from .values import Opaque, parts

FIRST = 6                                            # calls that are made again whatever their form


def repeatable(calls):
    """Without those that draw: what they do twice is asked by a check of its own."""
    return [call for call in calls if not any(map(is_generator, call.args))]


def is_generator(value):
    return isinstance(value, Given) and value.kind in GENERATORS


def of_plain_values(calls, of):
    """(call, its start) of each of that function that is given nothing but values"""
    return [pair for pair in with_starts(repeatable(calls)) if pair[0].name == of and not holds_given(pair[0].args)]


def with_starts(calls):
    """(call, its start) of each: the call that made its cache, or itself where it is given none"""
    makers = {id(part): call for call in calls for part in results(call) if isinstance(part, Opaque)}
    for call in calls:
        yield call, next((makers[id(arg)] for arg in call.args if isinstance(arg, Opaque) and id(arg) in makers), call)


def results(call):
    return call.result if isinstance(call.result, tuple) else (call.result,)


def holds_given(value):
    """Is anything in it made where it is handed over?"""
    return isinstance(value, Given) or any(map(holds_given, parts(value)))


def form_of(call, start):
    """The function and its start, and the types and rough sizes of what they are given."""
    return tuple((made.name, form(made.args), form(made.static)) for made in (call, start))


def one_of_each_form(calls):
    """The first call of each form, and its start; and, where there are no caches, the FIRST of all."""
    forms, found = set(), {}
    for number, (call, start) in enumerate(with_starts(calls)):
        form = form_of(call, start)
        if form not in forms or (number < FIRST and not any(isinstance(part, Opaque) for part in results(start))):
            found |= {id(start): start, id(call): call}
        forms.add(form)
    return list(found.values())


def form(value):
    if isinstance(value, np.ndarray):
        return tuple(map(int.bit_length, value.shape)), value.dtype.str, bool(value.any())
    if isinstance(value, Given):
        return value.kind
    if isinstance(value, dict):
        return len(value), frozenset(map(form, value.values()))
    if type(value) in (tuple, list):
        return len(value).bit_length(), form(value[0]) if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() // 4
    if isinstance(value, float):
        return math.frexp(value)[1]
    return value if isinstance(value, bool | None) else type(value).__name__
