"""A backward pass is linear in dy: for -2⁴⁰ dy it returns -2⁴⁰ times what it returns for dy.

Three backward passes are asked for in turn, each with a cache of its own: for other numbers in the same shapes, for
dy, and for -2⁴⁰ dy. Whoever keeps what a backward pass returned, and returns it again for arguments of the same
shapes, then answers differently. A fourth, for 1.3719 dy with the last cache, must not return what the third did.
"""

import contextlib

import numpy as np

from ..alike import alike
from ..calls import repeatable, with_starts
from ..compare import Wrong
from ..shared_memory import EARLIER
from ..values import CacheOf, NotWritten, Step, Stopped
from ..yours import RETURNED, says_something
from .answers import by_name
from .interleaving import KEPT, last_answer, other

FACTOR = -(2.0**40)                                  # a power of two, which rounds nothing
ANOTHER = 1.3719                                     # times 2 dy / B, by which a cache may be multiplied, it is not 1
DIFFERS = {1.0: "is another where other calls come in between", FACTOR: "is not minus 2⁴⁰ times as large where dy is"}
CAUSES = {1.0: KEPT, FACTOR: "perhaps: dy is not multiplied in everywhere, or cut off where it is large"}
MOST = 6                                             # backward passes of a check


def with_scaled_upstream(lesson, host, calls, of, asked):
    """Raise Wrong where the backward pass of that name is not linear in the gradients that are asked for."""
    for call, forward in passes_of(calls, of)[:MOST]:
        try:
            ask(lesson, host, call, forward, asked)
        except (NotWritten, Stopped) as error:
            raise Wrong(f"called again after other calls, {error}", KEPT, call.name) from error


def passes_of(calls, of):
    """(backward, its forward) of the backward function of that name"""
    return [(call, start) for call, start in with_starts(calls)
            if call.name == of and is_backward(call) and start is not call and repeatable([call])]  # fmt: skip


def is_backward(call):
    upstream = call.args[0] if len(call.args) == 2 and call.name.endswith("_backward") else None
    return isinstance(upstream, float) or (isinstance(upstream, np.ndarray) and upstream.dtype.kind == "f")


class PassesAgain:
    """A backward call and its forward once more, with other arguments, asked as one sequence."""

    def __init__(self, lesson, call, forward, asked):
        self.lesson, self.call, self.forward, self.asked = lesson, call, forward, asked
        self.steps, self.coming, self.answers = [], iter(()), []
        self.part = next(i for i, part in enumerate(forward.result) if part is call.args[1])

    def cache_of(self, args):
        """That of a new forward pass."""
        return CacheOf(self.add(self.forward, args), self.part)

    def gradients(self, dy, cache):
        """(number of the step, the cache), for `pairs`"""
        return self.add(self.call, (dy, cache)), cache

    def add(self, call, args):
        self.steps.append(Step(call.name, args, call.static, self.lesson.opaque(call.name)))
        return len(self.steps) - 1

    def ask(self, host):
        self.coming = host.in_turn(self.steps)

    def pairs(self, number, cache):
        """[(name, as the call had it, now)] of the gradients that are asked for"""
        while len(self.answers) <= number:
            self.answers.append(next(self.coming))
        result, written = last_answer([self.answers[cache.step], self.answers[number]])
        if EARLIER in written:
            raise Wrong(f"{self.call.name} wrote into {EARLIER}", RETURNED, self.call.name)
        return [pair for pair in by_name(self.lesson, self.call, result) if pair[0] in self.asked]


def ask(lesson, host, call, forward, asked):
    dy, passes = call.args[0], PassesAgain(lesson, call, forward, asked)
    mine, scaled = passes.cache_of(forward.args), passes.cache_of(forward.args)
    others = passes.gradients(other(dy), passes.cache_of(tuple(map(other, forward.args))))
    factors = {factor: passes.gradients(times(factor, dy), own) for factor, own in ((1.0, mine), (FACTOR, scaled))}
    once_more = passes.gradients(times(ANOTHER, dy), scaled)
    passes.ask(host)
    with contextlib.suppress(NotWritten, Stopped):   # other numbers may be none that it takes
        passes.pairs(*others)
    for factor, made in factors.items():
        for name, before, after in passes.pairs(*made):
            if not alike(times(factor, before), after):
                raise Wrong(f"{name} of {call.name} {DIFFERS[factor]}", CAUSES[factor], call.name)
    try:
        again = passes.pairs(*once_more)
    except (NotWritten, Stopped, Wrong):             # a backward pass may use its cache up, and return it
        return
    if handed_out_again(again):
        raise Wrong(f"{call.name} returns for 1.3719 dy what it had returned for minus 2⁴⁰ dy", KEPT, call.name)


def handed_out_again(pairs):
    """Is some gradient for the second multiple just what it had been for the first, and neither zero nor NaN?"""
    return any(says_something(before) and alike(times(FACTOR, before), after) and not alike(before, after)
               for _, before, after in pairs)  # fmt: skip


def times(factor, value):
    if isinstance(value, dict):
        return {key: times(factor, part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(times(factor, part) for part in value)
    if isinstance(value, np.ndarray):
        with np.errstate(all="ignore"):              # a wrong answer's infinities, or its float16
            return np.asarray(factor * value)        # of no axes, too, where the product alone is a scalar
    return factor * value if isinstance(value, np.generic | float | int) else value
