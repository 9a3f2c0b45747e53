"""The calls of a check once more, with the very objects of an earlier call, which have other numbers by then.

In training the weights stay the same arrays, and every step writes into them. Whoever keeps something for an array's
`id`, or for that of a dict, then answers with what it was for other numbers; or, where one argument alone is another
object, with what it was beside the former; or, on the way back, with what a later forward was given beside it.
"""

import itertools

import numpy as np

from .calls import holds_given, of_plain_values
from .compare import Wrong
from .given import Given
from .interleaving import alike, by_name, last_answer, other, steps_of
from .yours import NotWritten, Opaque, Stopped

KEPT = (
    "something is kept for an object, by its id, say, or from call to call: the same array or dict may have other "
    "numbers in the next call"
)
CLOSE = 1e-4


def in_same_objects(lesson, host, calls, of, beside_others):
    """Raise Wrong where the function of that name answers for what its arguments' objects held before.

    beside_others: or, with several lists or dicts, for what another argument was before
    """
    for call, start in of_plain_values(calls, of)[:1]:
        steps = [call] if call is start else [start, call]
        if holds_given(start.args):
            continue
        objects = [i for i, arg in enumerate(steps[0].args) if isinstance(arg, np.ndarray | dict | list)]
        for changed in objects:
            ask(lesson, host, steps, changed)
            if beside_others and sum(isinstance(arg, dict | list) for arg in steps[0].args) > 1:
                ask(lesson, host, steps, changed, new=True)
        if call is not start and len(objects) > 1:
            ask_with_one_between(lesson, host, steps, objects[0])


def ask(lesson, host, steps, changed, new=False):
    """changed: which argument of the first call held other numbers before; or was another object, if it is new"""
    first = [filled(step, changed, new, other_of(changed)) for step in steps]
    answers = host.in_turn(steps_of(lesson, first + [filled(step, changed, new) for step in steps]))
    before = "where the same objects stood beside other ones" if new else "where the same objects held other numbers"
    judge(lesson, steps[-1], itertools.islice(answers, len(first), None), f"{before} before")


def ask_with_one_between(lesson, host, steps, changed):
    """Forward and back, and in between a forward with the same objects but one, which is changed."""
    start, call = (filled(step, changed, True) for step in steps)
    between = filled(steps[0], changed, True, other_of(changed))._replace(result=None)
    before, _, after = host.in_turn(steps_of(lesson, [start, between, call]))
    judge(lesson, steps[-1], [before, after], "where a forward with the same objects comes in between")


def judge(lesson, call, answers, where):
    """answers: the last one is of a call that was answered so before"""
    try:
        result, _ = last_answer(answers)
    except (NotWritten, Stopped) as error:
        raise Wrong(f"called again with the same objects, {error}", KEPT, call.name) from error
    for name, before, after in by_name(lesson, call, result):
        if not isinstance(before, Opaque) and not alike(before, after, CLOSE):
            raise Wrong(f"{name} of {call.name} is another {where}", KEPT, call.name)


def other_of(changed):
    return lambda i, arg: other(arg) if i == changed else arg


def filled(call, changed, new, numbers=lambda _, arg: arg):
    """The call with the same objects whenever it is made, which hold these numbers; the changed one is not if new."""

    def of(i, arg):
        if isinstance(arg, Opaque) or (new and i == changed):
            return numbers(i, arg)
        return Given.of("filled", f"{changed} {new} {call.name} {i}", numbers(i, arg))

    return call._replace(args=tuple(itertools.starmap(of, enumerate(call.args))))
