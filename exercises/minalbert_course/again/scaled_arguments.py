"""A check's function once more, with arguments that are very small or large, against the answer that is known for them.

Whoever adds something tiny to a divisor, cuts numbers off, or takes what is small for zero then answers differently.
"""

import inspect

import numpy as np

from ..alike import alike, largest
from ..calls import of_plain_values, results
from ..compare import Wrong
from ..values import NotWritten, Opaque, Stopped, is_floats, mapped, parts
from ..yours import unpacked
from .answers import by_name
from .interleaving import last_answer, steps_of

SMALL, LEAST, LARGE = 2.0**-28, 2.0**-50, 2.0**24
WORDS = {SMALL: "2⁻²⁸ times as large", LEAST: "2⁻⁵⁰ times as large", LARGE: "2²⁴ times as large"}
LOST = "perhaps: what is small is taken for zero, or lost beside something larger; or something tiny is added"
CUT = "perhaps: large numbers are cut off, or something overflows"
CLOSE = 1e-4
CHOICES = {"mask", "kept"}                           # arguments that say which numbers count
OF_ONE = 4.5e-16                                     # what float64 loses where one is added to, and subtracted again
CANCELLED = 1e-6                                     # a result that is so small beside the arguments is a difference
MOST = 2                                             # calls of a check


def with_scaled_arguments(lesson, host, calls, of):
    """Raise Wrong where the function of that name is wrong for small or large arguments."""
    for call, start in of_plain_values(calls, of)[:MOST]:
        for factor, numbers in scaled(lesson, call, start):
            ask(lesson, host, call, start, factor, numbers)


def scaled(lesson, call, start):
    """(factor, arguments of the first call), if the right answer for them is known."""
    forward = lesson.references.get(start.name)
    usual = right(lesson, call, start, start.args)
    if usual is None or not any(map(holds_floats, start.args)) or not all(
        isinstance(before, Opaque) or (alike(answer, before, CLOSE) and not vanishes(answer, start.args))
        for before, answer in zip(results(call), usual, strict=True)
    ):
        return
    names = list(inspect.signature(forward).parameters)
    first = next((i for i, arg in enumerate(start.args) if is_floats(arg)), None)
    weights = any(isinstance(arg, dict | list) for arg in start.args)
    if call is start or not weights:                 # in a block, differences of nearly equal numbers would be left
        kept = {name: arg for name, arg in zip(names, start.args, strict=False) if name in CHOICES}
        yield SMALL, tuple(kept.get(name, resized(SMALL, arg)) for name, arg in zip(names, start.args, strict=False))
    for factor in (LEAST, LARGE) if first is not None and call is start else ():
        if factor == LEAST or "mask" not in names:
            yield factor, tuple(resized(factor, arg) if i == first else arg for i, arg in enumerate(start.args))


def right(lesson, call, start, args, references=None):
    """What the references return, or None; by default, those of the lesson. None, too, where a mask does not hide."""
    references = references or lesson.references
    answer = returned(lesson, call, start, args, references)
    names = list(inspect.signature(references[start.name]).parameters)[: len(args)] if answer else []
    if "mask" not in names:
        return answer
    farther = tuple(beyond(arg) if name == "mask" else arg for name, arg in zip(names, args, strict=True))
    pairs = zip(answer, returned(lesson, call, start, farther, references), strict=True)
    shown = (pair for i, pair in enumerate(pairs) if i not in lesson.opaque(call.name))
    return answer if all(alike(*pair, CLOSE) for pair in shown) else None


def beyond(mask):
    """A mask that hides what a score near 10000 brings above the others."""
    return np.where(mask < 0, np.finfo(float).min, mask)


def returned(lesson, call, start, args, references):
    forward, backward = (references.get(made.name) for made in (start, call))
    if forward is None or backward is None:
        return None
    try:
        with np.errstate(all="ignore"):
            answer = forward(*args, **start.static)
            if call is not start:
                cache = unpacked(start.name, answer, lesson.functions[start.name])[-1]
                upstream = [cache if isinstance(arg, Opaque) else arg for arg in call.args]
                answer = backward(*upstream, **call.static)
            answer = unpacked(call.name, answer, lesson.functions[call.name])
    except Exception:                                # it takes other arguments than the student's
        return None
    answer = answer if isinstance(answer, tuple) else (answer,)
    return answer if len(answer) == len(lesson.functions[call.name]) else None


def answered(lesson, host, call, start, args):
    """What the student's function returns where its own call, or that of its forward, gets these arguments."""
    start_again = start._replace(args=args)
    calls = [start_again] if call is start else [start_again, call]
    return last_answer(host.in_turn(steps_of(lesson, calls)))[0]


def ask(lesson, host, call, start, factor, args):
    expected = right(lesson, call, start, args)
    if expected is None:
        return
    try:
        answer = answered(lesson, host, call, start, args)
    except (NotWritten, Stopped) as error:
        raise Wrong(f"given arguments that are {WORDS[factor]}, {error}", None, call.name) from error
    cause = CUT if factor == LARGE else LOST
    for (name, _, after), known in zip(by_name(lesson, call, answer), expected, strict=True):
        if isinstance(after, Opaque) or not largest(known):
            continue
        if not alike(known, after, CLOSE, max(largest(known), OF_ONE / CLOSE)):
            raise Wrong(f"{name} of {call.name} is wrong where arguments are {WORDS[factor]}", cause, call.name)


def vanishes(answer, args):
    return largest(answer) < CANCELLED * largest(args)


def holds_floats(value):
    return is_floats(value) or any(map(holds_floats, parts(value)))


def resized(factor, value):
    """With other arrays of floats; numbers, and what lists and dicts hold beside such arrays, stay."""
    return mapped(lambda array: np.asarray(factor * array) if is_floats(array) else array, value)
