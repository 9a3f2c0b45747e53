"""The calls of a check once more, with the very objects of an earlier call, which have other numbers by then.

In training the weights stay the same arrays, and every step writes into them. Whoever keeps something for an array's
`id`, or for that of a dict, then answers with what it was for other numbers; or, where one argument alone is another
object, with what it was beside the former; or, on the way back, with what a later forward was given beside it.
"""

import itertools

import numpy as np

from ..calls import holds_given, of_plain_values
from ..compare import Wrong
from ..given import Given
from ..values import NotWritten, Opaque, Stopped
from .answers import by_name, first_difference
from .interleaving import last_answer, other, steps_of

KEPT = (
    "something is kept for an object, by its id, say, or from call to call: the same array or dict may have other "
    "numbers in the next call"
)
BEFORE = {
    "filled": "where the same objects held other numbers before",
    "renewed": "where the same list or dict held other arrays before",
    "another": "where the same objects stood beside other ones before",
}
CLOSE = 1e-4


def in_same_objects(lesson, host, calls, of, thoroughly):
    """Raise Wrong where the function of that name answers for what its arguments' objects held before.

    thoroughly: also for other arrays in the same list or dict, and for what stood beside it before
    """
    for call, start in of_plain_values(calls, of)[:1]:
        steps = [call] if call is start else [start, call]
        if holds_given(start.args):
            continue
        objects = [i for i, arg in enumerate(steps[0].args) if isinstance(arg, np.ndarray | dict | list)]
        containers = [i for i in objects if isinstance(steps[0].args[i], dict | list)]
        for changed in objects:
            ask(lesson, host, steps, changed, "filled")
            if thoroughly and len(containers) > 1:
                ask(lesson, host, steps, changed, "another")
            if thoroughly and changed in containers and call is start:         # forward keeps it, if any does
                ask(lesson, host, steps, changed, "renewed")
        if call is not start and len(objects) > 1:
            ask_with_one_between(lesson, host, steps, objects[0])


def ask(lesson, host, steps, changed, how):
    """changed: which argument of the first call was other before   how: one of BEFORE"""
    first = [filled(step, changed, how, other_of(changed)) for step in steps]
    answers = host.in_turn(steps_of(lesson, first + [filled(step, changed, how) for step in steps]))
    judge(lesson, steps[-1], itertools.islice(answers, len(first), None), BEFORE[how])


def ask_with_one_between(lesson, host, steps, changed):
    """Forward and back, and in between a forward with the same objects but one, which is changed."""
    start, call = (filled(step, changed, "another") for step in steps)
    between = filled(steps[0], changed, "another", other_of(changed))._replace(result=None)
    before, _, after = host.in_turn(steps_of(lesson, [start, between, call]))
    judge(lesson, steps[-1], [before, after], "where a forward with the same objects comes in between")


def judge(lesson, call, answers, where):
    """answers: the last one is of a call that was answered so before"""
    try:
        result, _ = last_answer(answers)
    except (NotWritten, Stopped) as error:
        raise Wrong(f"called again with the same objects, {error}", KEPT, call.name) from error
    if found := first_difference(by_name(lesson, call, result), CLOSE):
        raise Wrong(f"{found[0]} of {call.name} is another {where}", KEPT, call.name)


def other_of(changed):
    return lambda i, arg: other(arg) if i == changed else arg


def filled(call, changed, how, numbers=lambda _, arg: arg):
    """The call with the same objects whenever it is made, which hold these numbers; the changed one as BEFORE says."""

    def of(i, arg):
        kind = how if i == changed else "filled"
        if isinstance(arg, Opaque) or kind == "another":
            return numbers(i, arg)
        return Given.of(kind, f"{changed} {how} {call.name} {i}", numbers(i, arg))

    return call._replace(args=tuple(itertools.starmap(of, enumerate(call.args))))
