"""A check with all of its draws, and then its calls once more, in ways that no lesson has to ask for itself."""

from .again.dict_orders import with_dicts_in_another_order
from .again.given_again import once_more_as_left
from .again.interleaving import interleave
from .again.memory_orders import in_other_orders
from .again.object_twice import with_one_object_twice
from .again.one_argument import with_one_argument_changed
from .again.other_upstream import with_other_upstream
from .again.same_objects import in_same_objects
from .again.scaled_arguments import with_scaled_arguments
from .again.scaled_upstream import with_scaled_upstream
from .again.single_precision import in_single_precision
from .calls import forms_of
from .draw import draws
from .lesson import UNTOUCHED
from .pretended_gpu import pretending


def run_check(lesson, check, yours, term):
    """Wrong, NotWritten, Stopped or another error goes on."""
    made = []
    for draw in draws(term, lesson, check):
        check.run(yours, draw)
        made.append(yours.made[sum(map(len, made)) :])
    first, second = made
    may_keep = not yours.host.stateless
    with pretending(first + second):
        if may_keep:
            interleave(lesson, yours.host, made, yours.interleaved if check is not lesson.checks[-1] else frozenset())
            yours.interleaved |= forms_of(first + second)
        if check is not lesson.checks[-1]:           # which asks for nothing that depends on dy
            with_scaled_upstream(lesson, yours.host, second, check.of, gradients_of(lesson, check))
        if may_keep:
            in_same_objects(lesson, yours.host, second, check.of, is_last(lesson, check))
        if is_last(lesson, check):
            with_scaled_arguments(lesson, yours.host, second, check.of)
            with_one_object_twice(lesson, yours.host, second, check.of)
            with_other_upstream(lesson, yours.host, second, check.of, gradients_of(lesson, check))
        if may_keep and is_last(lesson, check):
            yours.keep_forms(first + second)
            names = {check.of, check.of.replace("_backward", "_forward")} - yours.failed
            with_one_argument_changed(lesson, yours.host, yours.of_each_form(names))
        may_write = yours.writers if check is lesson.checks[-1] else lesson.functions
        functions = asked_otherwise(lesson, check)
        in_other_orders(lesson, yours.host, made, functions, may_write)
        with_dicts_in_another_order(lesson, yours.host, made, functions)
        if check is lesson.checks[-1]:               # which in most lessons is about inputs untouched
            in_single_precision(lesson, yours.host, first)
        if may_keep and UNTOUCHED in check.title:
            once_more_as_left(lesson, yours.host, first)
    if may_keep:
        yours.keep_forms(first + second)


def asked_otherwise(lesson, check):
    """The functions that a check asks with arrays that lie otherwise in memory, and the like.

    A function's last check asks it, and a lesson's last check all of them.
    """
    if check is lesson.checks[-1]:
        return set(lesson.functions)
    return {check.of} if is_last(lesson, check) else set()


def is_last(lesson, check):
    """Is it the last one of its function? What nearly all pass is asked there alone: such a mistake costs little."""
    return check is [other for other in lesson.checks if other.of == check.of][-1]


def gradients_of(lesson, check):
    """What a check's function returns, or as much of it as the check's title names."""
    returned = lesson.functions[check.of]
    return [name for name in returned if name in check.title.split()] or returned
