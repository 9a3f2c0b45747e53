"""The calls of a check once more, in another order: each function must answer as before.

Where a check passes, one call of each form of its first draw, and of its second, are made again in turns: forward of
the one, forward of the other, backward of the one, backward of the other. Each forward is made twice, and before and
after it comes one more with other numbers in the same shapes. Whoever keeps something outside the cache, in a global
variable or on a function, then answers differently, gives the other numbers the same answer, or returns an array that
was returned before.
"""

import numpy as np

from ..calls import holds_given, one_of_each_form, repeatable, results
from ..compare import Wrong
from ..given import Given
from ..shared_memory import EARLIER, ITSELF, MEMORY_OF
from ..values import CacheOf, NotWritten, Opaque, Step, Stopped, mapped
from ..yours import RETURNED
from .answers import by_name, first_difference

KEPT = (
    "the result depends on calls in between: something is kept outside the cache, in a global variable, say; or the "
    "cache is written into"
)
AGAIN = (
    "the same call gives another answer the second time: something is kept from call to call, in a global variable, "
    "say, or each call draws new random numbers"
)
SAME_ARRAY = "an array that is kept from call to call is returned itself; others may write into it: return a new one"
SAME_OBJECT = "a list or dict that is kept from call to call is returned itself; others may change it: return a new one"


def interleave(lesson, host, made, known=frozenset()):
    """Raise Wrong where a call is answered differently. made: the calls of each draw, in their order

    known: forms of calls that are left out
    """
    turns = in_turns([one_of_each_form(repeatable(calls), known) for calls in made])
    asked = [(call, way) for call in turns for way in ways_of(lesson, call)]
    steps = steps_of(lesson, [with_other_numbers(call) if way in OTHERS else call for call, way in asked])
    for (call, way), answer in zip(asked, host.in_turn(steps), strict=True):
        way(lesson, call, answer)


def with_other_numbers(call):
    """Its result is of no use to others."""
    return call._replace(args=other(call.args), result=None)


def steps_of(lesson, calls):
    """These calls as a sequence; a cache that one of them makes again is handed to those after it."""
    steps, caches = [], {}
    for call in calls:
        args = tuple(caches.get(id(arg), arg) for arg in call.args)
        made = enumerate(call.result if isinstance(call.result, tuple) else ())
        caches |= {id(part): CacheOf(len(steps), i) for i, part in made if isinstance(part, Opaque)}
        steps.append(Step(call.name, args, call.static, lesson.opaque(call.name)))
    return steps


def last_answer(answers):
    """(result, what was written into) of the last step, where each needs those before it"""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answer


def in_turns(lists):
    for i in range(max(map(len, lists), default=0)):
        yield from (calls[i] for calls in lists if i < len(calls))


def judge(lesson, call, answer):
    """answer: of the call that is made again"""
    if isinstance(answer, Exception):
        raise Wrong(f"called again after other calls, {answer}", KEPT, call.name) from answer
    if found := first_difference(returned(lesson, call, answer)):
        raise Wrong(f"{found[0]} of {call.name} is another where other calls come in between", KEPT, call.name)


def judge_other(lesson, call, answer):
    """answer: of a call with other numbers in the same shapes, which must not be answered with the same numbers"""
    if isinstance(answer, Exception):
        return
    for name, before, now in returned(lesson, call, answer):
        if of_many_values(before) and np.array_equal(before, now):
            raise Wrong(f"{name} of {call.name} is the same for other numbers in the same shapes", KEPT, call.name)


def judge_anew(lesson, call, answer):
    """answer: of the call that was just made"""
    if isinstance(answer, Exception):
        return
    if call.name in lesson.own_results and MEMORY_OF + EARLIER in answer[1]:
        raise Wrong(f"{call.name} returned {MEMORY_OF}{EARLIER}", SAME_ARRAY, call.name)
    if ITSELF in answer[1]:
        raise Wrong(f"{call.name} returned {ITSELF.removeprefix(MEMORY_OF)}", SAME_OBJECT, call.name)


def judge_written(lesson, call, answer):
    """answer: of a call with other numbers in the same shapes, which must leave alone what was returned before"""
    if not isinstance(answer, Exception):
        returned(lesson, call, answer)


OTHERS = judge_other, judge_written


def ways_of(lesson, call):
    """In which ways a call is made again, one after the other"""
    if lesson.opaque(call.name):
        return judge_other, judge, judge_anew, judge_other
    if holds_given(call.args) or any(isinstance(arg, Opaque) for arg in call.args):
        return (judge,)
    if any(isinstance(part, np.ndarray) for part in results(call)):
        return judge, judge_anew, judge_written
    return (judge, judge_anew) if any(isinstance(part, list | dict) for part in results(call)) else (judge,)


def returned(lesson, call, answer):
    """As `by_name`, if the call left alone what an earlier one had returned."""
    result, written = answer
    if EARLIER in written:
        raise Wrong(f"{call.name} wrote into {EARLIER}", RETURNED, call.name)
    return by_name(lesson, call, result)


def answers_otherwise(lesson, yours, names):
    """Does the last call, or the last one of these functions, give another answer where it is made again?"""
    asked = yours.made[-1:] + [call for call in reversed(yours.made[:-1]) if call.name in names][:1]
    return any(is_answered_otherwise(lesson, yours.host, call) for call in asked)


def is_answered_otherwise(lesson, host, call):
    """Does the same call give another answer now? It is not made where an argument is a cache or is made each time."""
    if any(isinstance(arg, Given | Opaque) for arg in call.args):
        return False
    try:
        result, _ = host.call(call.name, call.args, call.static, lesson.opaque(call.name))
        return first_difference(by_name(lesson, call, result)) is not None
    except (NotWritten, Stopped, Wrong, RecursionError):
        return False


def of_many_values(result):
    """Is it an array of floats, and not of two values alone, as a softmax of large numbers?"""
    return isinstance(result, np.ndarray) and result.dtype.kind == "f" and len(np.unique(result)) > 2


def other(value):
    """Other numbers: each array in reverse order; floats are smaller, too."""
    return mapped(turned, value)


def turned(array):
    back = np.flip(array)                            # of no axes, it is a scalar
    return np.array(array.dtype.type(0.75) * back if array.dtype.kind == "f" else back)
