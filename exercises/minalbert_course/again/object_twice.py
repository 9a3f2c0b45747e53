"""The calls of a check once more, with one and the same array as two of the arguments, or three.

Attention of a text to itself is handed one array as q, k and v. Each argument still has a gradient of its own: whoever
finds an argument by its object, with `is` or `id`, then gives both the sum, or none.
"""

import itertools

import numpy as np

from ..alike import alike
from ..calls import of_plain_values, results
from ..compare import Wrong
from ..given import Given
from ..values import NotWritten, Opaque, Stopped
from .answers import by_name
from .scaled_arguments import answered, right

CAUSE = "an argument is found by its object (`is`, `id`), or written into: two arguments may be one array"
CLOSE = 1e-4
MOST = 3                                             # pairs of arguments
COUNT = {2: "two", 3: "three"}


def with_one_object_twice(lesson, host, calls, of):
    """Raise Wrong where the function of that name, or what follows its forward, is wrong for such arguments."""
    for call, start in of_plain_values(calls, of)[:1]:
        usual = right(lesson, call, start, start.args)
        if usual is not None and agree(results(call), usual):
            found = list(itertools.islice(pairs(start.args), MOST))
            for places in [*found, *all_at_once(found)]:
                ask(lesson, host, (start, call), places)


def agree(answers, known):
    """The reference returns what the student's function returned, caches aside."""
    return len(answers) == len(known) and all(
        isinstance(answer, Opaque) or alike(one, answer, CLOSE) for answer, one in zip(answers, known, strict=True)
    )


def pairs(args):
    """Places of arrays of one shape; the first is that of the array which is valid in both: moments are never negative,
    and ids are below a limit."""
    for i, j in itertools.combinations(range(len(args)), 2):
        one, other = args[i], args[j]
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            continue
        if one.shape == other.shape and one.dtype == other.dtype and one.size > 1:
            fits = one.min() >= 0 or other.min() < 0 if one.dtype.kind == "f" else one.max() <= other.max()
            yield (i, j) if fits else (j, i)


def all_at_once(pairs):
    """Three places of which each is in a pair with each other."""
    return [places for places in itertools.combinations(sorted(set(itertools.chain(*pairs))), 3)
            if all(pair in pairs for pair in itertools.combinations(places, 2))][:1]  # fmt: skip


def ask(lesson, host, steps, places):
    """places: of the arguments that are one object, the first of them"""
    start, call = steps
    args = tuple(start.args[places[0]] if i in places else arg for i, arg in enumerate(start.args))
    known = right(lesson, call, start, args)
    if known is None:
        return
    one = Given.of("filled", f"one object {start.name} {places}", args[places[0]])
    args = tuple(one if i in places else arg for i, arg in enumerate(args))
    try:
        answer = answered(lesson, host, call, start, args)
    except (NotWritten, Stopped) as error:
        raise Wrong(f"given one array as {COUNT[len(places)]} arguments, {error}", CAUSE, call.name) from error
    for (name, _, after), expected in zip(by_name(lesson, call, answer), known, strict=True):
        if not isinstance(after, Opaque) and not alike(expected, after, CLOSE):
            seen = f"{name} of {call.name} is wrong where {COUNT[len(places)]} arguments are one array"
            raise Wrong(seen, CAUSE, call.name)
