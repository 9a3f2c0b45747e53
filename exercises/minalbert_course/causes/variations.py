"""The library's own function with one argument changed: does it give the student's wrong numbers?

Where no lesson knows the mistake, this finds which argument was used in another way: left out, with the other sign,
squared, as its mean, in the place of another one. It works for functions whose name the library has, too, and only
where the library's numbers for the unchanged arguments are those that the check expects.
"""

import inspect
import itertools

import numpy as np

from ..calls import results
from ..values import Opaque, is_floats
from .changes import is_float, others

LIMIT = 1e-6
MOST = 1000                                          # variations that are tried for one difference


def found_in(lesson, yours, error):
    """The cause of a `Wrong` with its numbers, or None."""
    if error.numbers is None:
        return None
    mine, expected = (np.asarray(array, float) for array in error.numbers)
    if not np.isfinite(mine).all() or not mine.any() or alike(mine, expected):
        return None
    if len(np.unique(mine)) < 3 <= mine.size:        # one or two numbers alone, as a cut or an overflow makes them
        return None
    with np.errstate(all="ignore"):
        if mine.shape != expected.shape:
            return earlier(yours, mine)
        return earlier(yours, mine) or explanation(lesson, yours, mine, expected)


def earlier(yours, mine):
    """Is this what an argument was, or what an earlier call returned?"""
    if mine.size < 3 or np.ptp(mine) == 0:
        return None
    for call in reversed(yours.made[-4:]):
        for number, arg in enumerate(call.args, 1):
            if is_floats(arg) and alike(arg, mine):
                return f"this is what {call.name} was given, its argument {number}"
    found = [call for call in yours.history
             if any(is_floats(part) and alike(part, mine) for part in results(call))]  # fmt: skip
    for call in found[:-1]:
        if call.name != found[-1].name:
            return f"this is what {call.name} returned"
        if not same_arguments(call, found[-1]):
            return f"this is what an earlier call of {call.name} returned: something is kept from call to call"
    return None


def same_arguments(call, other):
    """The caches are different ones in any case."""
    plain = np.ndarray | float | int
    arrays = [[np.asarray(arg) for arg in made.args if isinstance(arg, plain)] for made in (call, other)]
    return all(a.shape == b.shape and (a == b).all() for a, b in zip(*arrays, strict=False))


def explanation(lesson, yours, mine, expected):
    """What was done to which argument, or None. The student's last calls are looked at."""
    for call in reversed(yours.made[-6:]):
        start = forward_call(call, yours.made)
        name = start.name if start else ""
        forward = lesson.references.get(name)
        backward = lesson.references.get(name.removesuffix("_forward") + "_backward")
        if forward is None or (call is not start and backward is None):
            continue
        dy = call.args[0] if call is not start else None
        computed = Pass(forward, backward, start.static)
        before = [made.args for made in yours.history if made.name == name and made is not start]
        if found := matched(computed, list(start.args), dy, before, mine, expected):
            return found
    return None


def forward_call(call, calls):
    """The call that made the cache, or the call itself, if it was given none."""
    caches = [arg for arg in call.args if isinstance(arg, Opaque)]
    if not caches:
        return call
    return next((made for made in calls if any(part is caches[0] for part in results(made))), None)


class Pass:
    """forward alone, or backward after it: (args, dy) -> arrays"""

    def __init__(self, forward, backward, static):
        self.forward, self.backward, self.static = forward, backward, static
        self.names = list(inspect.signature(forward).parameters)

    def results(self, args, dy, change=None):
        """change: (cache) -> another one, for backward"""
        result = self.forward(*args, **self.static)
        if dy is None:
            return arrays(result if isinstance(result, tuple) else (result,))
        cache = result[1] if change is None else change(result[1])
        return arrays(self.backward(dy, cache))


def arrays(values):
    return [np.asarray(value, float) for value in values if isinstance(value, np.ndarray | np.floating | float)]


def matched(computed, args, dy, before, yours, expected):
    """The words of the first variation that gives the student's numbers."""
    try:
        which = [i for i, array in enumerate(computed.results(args, dy)) if alike(array, expected)]
        if not which:
            return None
        for says, answer in combined(computed.names, args, dy, expected):
            if alike(answer, yours):
                return f"the same numbers come out where {says}"
        tried = list(itertools.islice(variations(computed, args, dy, before), MOST))
    except Exception:                                # it is called in another way than the library's
        return None
    for says, other_args, other_dy, change in tried:
        try:
            answers = computed.results(other_args, other_dy, change)
            if any(alike(answers[i], yours) for i in which):
                return f"the same numbers come out where {says}"
        except Exception:                            # of numbers that make no sense there
            pass
    return None


def combined(names, args, dy, expected):
    """(words, array): what is expected with an argument added, or multiplied, once more or in the wrong way."""
    for name, x in [*zip(names, args, strict=False), ("the gradient given to backward", dy)]:
        if not is_floats(x) or not expected.ndim or not fits(x.shape, expected.shape):
            continue
        yield f"{name} is not added, or subtracted twice", expected - x
        yield f"{name} is subtracted, where it must be added", expected - 2 * x
        yield f"{name} is added once too often", expected + x
        yield f"{name} is added twice too often, or with the wrong sign", expected + 2 * x
        yield f"{name} is multiplied by, where it must be added", (expected - x) * x
        yield f"{name} is added, where it must be multiplied by", expected / x + x
        yield f"{name} is subtracted, where it must be multiplied by", expected / x - x
        yield f"{name} is divided by, where it must be multiplied by", expected / (x * x)
        yield f"{name} is multiplied by, where it must be divided by", expected * x * x
        yield f"{name} is multiplied by once too often", expected * x
        yield f"{name} is not multiplied by", expected / x


def fits(shape, whole):
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False


def variations(computed, args, dy, before):
    """(words, arguments, dy, what to do with the cache). before: arguments of earlier calls"""
    names = computed.names
    yield from kept(names, args, dy, before, np.ndarray)
    for i, (name, value) in enumerate(zip(names, args, strict=False)):
        for says, other in others(value):
            yield says.format(name), [*args[:i], other, *args[i + 1 :]], dy, None
    yield from kept(names, args, dy, before, float | np.floating)
    if dy is not None:
        for says, other in others(dy):
            yield says.format("the gradient given to backward"), args, other, None
        yield from on_the_way_back(computed, args, dy)
    for i, value in enumerate(args):
        for j in range(i):
            if exchangeable(value, args[j]):
                swapped = list(args)
                swapped[i], swapped[j] = args[j], value
                yield f"{names[j]} and {names[i]} have changed places", swapped, dy, None
                yield f"{names[j]} stands where {names[i]} must", [*args[:i], args[j], *args[i + 1 :]], dy, None
                yield f"{names[i]} stands where {names[j]} must", [*args[:j], value, *args[j + 1 :]], dy, None
            if is_weights(args[i], args[j]) or is_weights(args[j], args[i]):
                weights, whole = (i, j) if is_weights(args[i], args[j]) else (j, i)
                without = np.where(args[whole] == 0, 0, args[weights])
                says = f"places where {names[whole]} is 0 are left out"
                yield says, [*args[:weights], without, *args[weights + 1 :]], dy, None
            if is_floats(value) and is_floats(args[j]):
                left = list(args)
                left[i], left[j] = 0 * value, 0 * args[j]
                yield f"{names[j]} and {names[i]} are left out", left, dy, None


def kept(names, args, dy, before, kind):
    """Arguments of earlier calls. A number comes after the simpler mistakes, for an earlier eps may be nearly 0."""
    for i, (name, value) in enumerate(zip(names, args, strict=False)):
        for old in (old[i] for old in before[:8] if isinstance(value, kind) and same_kind(old[i], value)):
            says = f"{name} is that of an earlier call: something is kept from call to call"
            says += ", or 0 counts as not given" if isinstance(value, int | float) and not value else ""
            yield says, [*args[:i], old, *args[i + 1 :]], dy, None


def on_the_way_back(computed, args, dy):
    """Variations of what forward keeps, for backward alone."""
    _, cache = computed.forward(*args, **computed.static)
    if not isinstance(cache, tuple):
        return
    for i, part in enumerate(cache):
        name = next((name for name, arg in zip(computed.names, args, strict=False) if arg is part),
                    f"what forward keeps of shape {np.shape(part)}")  # fmt: skip
        for says, other in others(part):
            yield (f"on the way back, {says.format(name)}", args, dy,
                   lambda cache, i=i, other=other: (*cache[:i], other, *cache[i + 1 :]))  # fmt: skip


def same_kind(old, value):
    both = isinstance(old, np.ndarray) and isinstance(value, np.ndarray)
    return old.shape == value.shape if both else is_float(old) and is_float(value) and old != value


def exchangeable(a, b):
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype.kind == b.dtype.kind
    return is_float(a) and is_float(b)


def is_weights(weights, whole):
    return (isinstance(weights, np.ndarray) and isinstance(whole, np.ndarray) and weights.shape == whole.shape
            and weights.dtype.kind == "f" and whole.dtype.kind in "iu")  # fmt: skip


def alike(a, b):
    if a.shape != b.shape:
        return False
    size = max(min(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)), 1e-300)
    return bool((np.abs(a - b) <= LIMIT * size).all())
