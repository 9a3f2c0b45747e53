"""Each function once more, with the very arrays and lists that it had, as it left them: it must answer as before.

A worker says what a function wrote into, and a submission could make it say nothing. But if a function writes into an
argument, its second call gets other numbers and answers differently; so does forward, if backward wrote. This does not
stop a submission that recognises these calls.
"""

import numpy as np

from ..calls import form_of, holds_given, repeatable, with_starts
from ..compare import Wrong
from ..given import Given
from ..yours import IN_PLACE
from .answers import by_name, first_difference
from .interleaving import steps_of


def once_more_as_left(lesson, host, calls):
    """Raise Wrong where one of these functions answers differently. calls: of the check; one of each form is asked"""
    found = {}
    for call, start in with_starts(repeatable(calls)):
        if not holds_given(call.args) and not holds_given(start.args):
            found.setdefault(form_of(call, start), [call] if call is start else [start, call])
    for pair in found.values():
        asked = [with_objects(call, "filled") for call in pair] + [with_objects(call, "as left") for call in pair]
        for call, answer in zip(pair * 2, host.in_turn(steps_of(lesson, asked)), strict=True):
            judge(lesson, call, answer)


def with_objects(call, kind):
    """The call with objects of its own in the place of arrays, dicts and lists: "filled" with these, or "as left"."""

    def of(i, arg):
        slot = f"again {call.name} {i}"
        if not isinstance(arg, np.ndarray | dict | list):
            return arg
        return Given.of(kind, slot, arg) if kind == "filled" else Given.of(kind, slot)

    return call._replace(args=tuple(of(i, arg) for i, arg in enumerate(call.args)))


def judge(lesson, call, answer):
    if isinstance(answer, Exception):
        raise Wrong(f"given the same objects once more, {answer}", IN_PLACE, call.name) from answer
    if found := first_difference(by_name(lesson, call, answer[0])):
        raise Wrong(f"{found[0]} of {call.name} is another when given the same objects again", IN_PLACE, call.name)
