"""A check's calls once more, with one argument after the other changed: where the right answer changes, so must theirs.

Whoever keeps answers under a key that lacks an argument, or says too little of it (its shape, its sum, its first
number), then hands out an earlier one. A function's last check asks one call of each form, and backward's those of
its forward, too; a function that lost points before is not asked.
"""

import contextlib
import functools
import itertools

import numpy as np

from ..alike import CLOSE, alike, largest
from ..calls import results
from ..compare import Wrong
from ..given import Given
from ..remembered import remembered
from ..small_changes import at, changes, is_whole, places, replaced
from ..values import Opaque
from ..yours import says_something, unpacked
from .interleaving import steps_of
from .object_twice import agree
from .scaled_arguments import right

CAUSE = "an answer is kept from call to call, and handed out again where one argument is another"
CLEAR = 1e-3                                         # relative: so much of the right answer changes
LEAST = 1e-100                                       # smaller answers may be rounded to zero
MOST_PARTS = 6                                       # of lists and dicts
MOST_CHANGES = 6                                     # that are tried of one argument


def with_one_argument_changed(lesson, host, calls):
    """Raise Wrong where a function answers as before. calls: (call, its start), of functions not wrong so far"""
    asked = []
    for number, (call, start) in enumerate(calls):
        turns = turns_of(lesson)(without_values((call,) if call is start else (start, call)), number)
        if len(turns) > 1 and agree(returned(lesson, call, call.result), turns[0][1]):
            asked.append(turns)
    answers = host.in_turn(steps_of(lesson, [step for turns in asked for steps, _ in turns for step in steps]))
    for turns in asked:
        judge(lesson, [(steps[-1], known, [next(answers) for _ in steps][-1]) for steps, known in turns])


def judge(lesson, made):
    """made: (call, what is known to be right, the answer)

    What may be handed out again is an answer that was right, and says something: nobody need say anything of arguments
    that do not fit, and may say nothing of them.
    """
    made = [(call, known, now) for call, known, answer in made if (now := usable(lesson, call, answer)) is not None]
    for (call, known_before, before), (_, known, now) in itertools.pairwise(made):
        was_right = agree(before, known_before) and says_something(before)
        if was_right and differ(lesson, call, known_before, known) and not differ(lesson, call, before, now, CLOSE):
            raise Wrong(f"{call.name} returns the same where one argument is another", CAUSE, call.name)


def usable(lesson, call, answer):
    """What was returned, or None where it stopped or returned something else: it may not take such arguments."""
    with contextlib.suppress(Wrong):
        return None if isinstance(answer, Exception) else returned(lesson, call, answer[0])


def returned(lesson, call, result):
    result = unpacked(call.name, result, lesson.functions[call.name])
    return result if len(lesson.functions[call.name]) > 1 else (result,)


def differ(lesson, call, before, now, close=CLEAR):
    """Are two answers of a function different ones, caches aside? Whole numbers may be floats, which are rounded."""
    hidden, pairs = lesson.opaque(call.name), zip(before, now, strict=True)
    pairs = [[float(part) if is_whole(part) else part for part in pair] for pair in pairs]
    return not all(i in hidden or alike(*pair, close) for i, pair in enumerate(pairs))


def without_values(steps):
    """The steps without what they returned; a cache is known by its place in what the first of them returned."""
    caches = {id(part): Opaque(i) for i, part in enumerate(results(steps[0])) if isinstance(part, Opaque)}

    def plain(arg):
        return caches.get(id(arg), Opaque(None)) if isinstance(arg, Opaque) else arg

    return [step._replace(args=tuple(map(plain, step.args)),
                          result=tuple(caches.get(id(part)) for part in results(step))) for step in steps]  # fmt: skip


@functools.cache
def turns_of(lesson):
    return remembered(lambda steps, number: list(changed_in_turn(lesson, steps, number)))


def changed_in_turn(lesson, steps, number):
    """(steps, the right answer): as they are, and then each with one argument other than in those before; nothing if
    no right answer is known. number: of the call; it chooses which parts of lists and dicts are changed"""
    known, given = known_answer(lesson, steps), tuple(step.args for step in steps)
    if known is None:
        return
    yield steps, known
    paths = [(i, j, *path) for i, args in enumerate(given) for j, arg in enumerate(args) for path in places(arg)]
    whole, inner = [path for path in paths if len(path) == 2], [path for path in paths if len(path) > 2]
    first = MOST_PARTS * number % max(len(inner), 1)
    chosen = (inner + inner)[first : first + min(MOST_PARTS, len(inner))]
    for path in whole + chosen:
        for part in itertools.islice(changes(at(given, path)), MOST_CHANGES):
            others = replaced(given, path, part)
            again = tuple(step._replace(args=args) for step, args in zip(steps, others, strict=True))
            answer = known_answer(lesson, again)
            if answer is not None and tells(lesson, steps[-1], known, answer):
                given, known = others, answer
                yield again, known
                break


def known_answer(lesson, steps):
    """What the references return, or None."""
    args = tuple(arg.make() if isinstance(arg, Given) and arg.kind == "function" else arg for arg in steps[0].args)
    return right(lesson, steps[-1], steps[0], args, lesson.usual_references)


def tells(lesson, call, before, now):
    """Is it clear that the second answer must be another? Not where an argument no longer fits the others' shapes, nor
    where hardly anything is left of it."""
    shapes = [[part.shape for part in answer if isinstance(part, np.ndarray)] for answer in (before, now)]
    return shapes[0] == shapes[1] and not 0 < largest(now) < LEAST and differ(lesson, call, before, now)
