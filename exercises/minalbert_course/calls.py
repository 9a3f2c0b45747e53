"""The calls of a check: which can be made again, which call made another's cache, and which are of one form."""

import math

import numpy as np

from .given import GENERATORS, Given
from .values import Opaque, parts

FIRST = 6                                            # calls that are made again whatever their form
QUICK = 1000                                         # numbers of a call, and of the one that made its cache
MANY = 4                                             # bits of a size: those of 8 and above are of one form


def repeatable(calls):
    """Without those that draw, for what they do twice is asked by a check of its own; and with `few_of` those of many
    numbers, which take long."""
    found = [call for call in calls if not any(map(is_generator, call.args))]
    pairs = sorted(with_starts(found), key=numbers_in)
    quick = [pair for pair in pairs if numbers_in(pair) <= QUICK]
    kept = {id(call) for pair in quick + few_of(pairs[len(quick) :], quick) for call in pair}
    return [call for call in found if id(call) in kept]


def few_of(slow, quick):
    """Those of a form that no quick one has; of a function that is asked quickly, too, the first with each argument
    large: whoever keeps answers under printed arguments, which NumPy shortens, must be asked with each of them."""
    forms, names = {form_of(*pair) for pair in quick}, {call.name for call, _ in quick}
    found, seen = [], set()
    for call, start in slow:
        large = {(call.name, each.name, i) for each in (call, start) for i in large_arguments(each) or [None]}
        if form_of(call, start) not in forms and not (call.name in names and large <= seen):
            found.append((call, start))
            seen |= large
    return found


def numbers_in(pair):
    """The number of entries of all arrays among their arguments, and in dicts there. Its start may be the call itself.
    """
    call, start = pair
    return sum(call.sizes) + (sum(start.sizes) if start is not call else 0)


def sizes(call):
    """The number of entries of each argument's arrays"""
    found = [arg.values() if isinstance(arg, dict) else (arg,) for arg in call.args]
    return [sum(part.size for part in arrays if isinstance(part, np.ndarray)) for arrays in found]


def large_arguments(call):
    """The places of those that have many numbers"""
    return tuple(i for i, size in enumerate(call.sizes) if size > QUICK)


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
    """What two calls have alike of which one alone is asked again: see `Call.form`."""
    return call.form, start.form


def one_of_each_form(calls, known=frozenset()):
    """The first call of each form, and its start; and, where there are no caches, the FIRST of all. known: forms that
    earlier checks asked, which are left out
    """
    forms, found = set(), {}
    for number, (call, start) in enumerate(with_starts(calls)):
        form = form_of(call, start)
        among_first = number < FIRST and not any(isinstance(part, Opaque) for part in results(start))
        if form not in known and (form not in forms or among_first):
            found |= {id(start): start, id(call): call}
        forms.add(form)
    return list(found.values())


def forms_of(calls):
    """The forms of those that are given nothing but values: to make the rest may change what other calls find."""
    return {form_of(call, start) for call, start in with_starts(repeatable(calls))
            if not holds_given(call.args) and not holds_given(start.args)}


def form(value):
    if isinstance(value, np.ndarray):
        return tuple(map(rough, value.shape)), value.dtype.str, not is_zero(value)
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


def is_zero(array):
    return not (array.size and array.flat[0]) and not array.any()


def rough(size):
    """The number of bits of a size: of 0, 1, 2 to 3, 4 to 7, or more."""
    return min(size.bit_length(), MANY)
