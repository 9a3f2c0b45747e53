"""The calls of a check: which of them are made again, and which are so alike that one of them is enough.

call    a function's name, what it was given, and what it returned: a `yours.Call`
start   of a call: the call that made the cache that it was given, so forward's call for one of backward. A call that
        was given no cache is its own start
pair    (call, its start)
form    of a call: its function, roughly the shape of its first argument, the dtype, and the like (`Call.form`). Of a
        pair: the form of the call and that of its start
quick   of a pair: its arguments have QUICK numbers in all, or fewer
large   of an argument: it has more than QUICK numbers
"""

import math

import numpy as np

from .given import GENERATORS, Given
from .values import Opaque, parts

FIRST = 6                                            # calls that are made again whatever their form
QUICK = 1000                                         # numbers of a pair, or of an argument
MANY = 4                                             # bits of a size: sizes of 8 and above count as one


def repeatable(calls):
    """The calls that are made again: those of quick pairs, and a few of the others, which take long.

    Calls that draw random numbers are left out: a check of its own makes them twice.
    """
    found = [call for call in calls if not any(map(is_generator, call.args))]
    pairs = sorted(with_starts(found), key=numbers_in)
    quick = [pair for pair in pairs if numbers_in(pair) <= QUICK]
    kept = {id(call) for pair in quick + few_of(pairs[len(quick) :], quick) for call in pair}
    return [call for call in found if id(call) in kept]


def few_of(slow, quick):
    """The slow pairs that are kept: each must have a form that no quick pair has.

    If some quick pair is of the same function, it must also be the first in which this argument is large. Because NumPy
    shortens what it prints of large arrays, a function that keeps answers under printed arguments is found only so.
    """
    forms, names = {form_of(*pair) for pair in quick}, {call.name for call, _ in quick}
    found, seen = [], set()
    for call, start in slow:
        large = {(call.name, each.name, i) for each in (call, start) for i in large_arguments(each) or [None]}
        if form_of(call, start) not in forms and not (call.name in names and large <= seen):
            found.append((call, start))
            seen |= large
    return found


def numbers_in(pair):
    """The number of entries of all arrays that a call and its start were given, in dicts too"""
    call, start = pair
    return sum(call.sizes) + (sum(start.sizes) if start is not call else 0)


def sizes(call):
    """The number of entries of each argument's arrays"""
    found = [arg.values() if isinstance(arg, dict) else (arg,) for arg in call.args]
    return [sum(part.size for part in arrays if isinstance(part, np.ndarray)) for arrays in found]


def large_arguments(call):
    """The places of a call's large arguments"""
    return tuple(i for i, size in enumerate(call.sizes) if size > QUICK)


def is_generator(value):
    return isinstance(value, Given) and value.kind in GENERATORS


def of_plain_values(calls, of):
    """The pairs of that function's calls, without those that were given anything but plain values"""
    return [pair for pair in with_starts(repeatable(calls)) if pair[0].name == of and not holds_given(pair[0].args)]


def with_starts(calls):
    """The pair of each call"""
    makers = {id(part): call for call in calls for part in results(call) if isinstance(part, Opaque)}
    for call in calls:
        yield call, next((makers[id(arg)] for arg in call.args if isinstance(arg, Opaque) and id(arg) in makers), call)


def results(call):
    return call.result if isinstance(call.result, tuple) else (call.result,)


def holds_given(value):
    """Is anything in it made where it is handed over?"""
    return isinstance(value, Given) or any(map(holds_given, parts(value)))


def form_of(call, start):
    """The form of a pair"""
    return call.form, start.form


def one_of_each_form(calls, known=frozenset()):
    """The calls of the first pair of each form; and of the first FIRST calls all, if their starts returned no caches

    known: forms that earlier checks asked, which are left out
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
    """The forms of the pairs that were given nothing but plain values.

    The rest are asked again in every check, because making their arguments may change what other calls find.
    """
    return {form_of(call, start) for call, start in with_starts(repeatable(calls))
            if not holds_given(call.args) and not holds_given(start.args)}


def form(value):
    """What a call's form says of its arguments: of an array roughly the shape, the dtype, and whether all is zero; of a
    tuple or a list roughly how long it is, and the form of its first entry."""
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
