"""The student's functions, as a check sees them: called by name, what they return unpacked by name.

    context, cache = yours.attention_forward(q, k, v, mask)

Wherever they run (`here`, or `grade.worker`, in a process of their own), they get copies, so that a function which
writes into its arguments spoils nothing; `yours.untouched()` reports it.
"""

import collections
import functools
from typing import Any, NamedTuple

import numpy as np

from .calls import form, form_of, large_arguments, repeatable, sizes, with_starts
from .compare import Wrong, shown
from .narrow import has_narrow_integers
from .shared_memory import EARLIER, GIVEN, MEMORY_OF
from .values import CacheOf, NotWritten, OnDevice, Opaque, Step, Stopped

KEPT = 100                                           # calls in the history
LEAST = 1e-9                                         # a number that is no larger says as little as zero
IN_PLACE = (
    "something that works in place on what was given: +=, *=, out=, x[...] =, and with lists and dicts pop, append or "
    "an assignment; make a new one first"
)
RETURNED = (
    "an array of the cache, or one that is kept from call to call, is returned itself, and written into again: return "
    "a new one"
)

LENT = (
    "a later += on the result changes that array, too: an array of its own is asked for, made by a computation, by "
    "np.array or copy; x[...], reshape and T are views"
)
NOT_NEW = "later changes of the result change the argument, too: return a new list, made by list, + or a loop"


def cause_of(what):
    """Why a function wrote into this, or returned its memory"""
    if what == GIVEN:
        return NOT_NEW
    return LENT if what.startswith(MEMORY_OF) else RETURNED if what == EARLIER else IN_PLACE


class Made(NamedTuple):
    name: str
    args: tuple
    static: dict
    result: Any


class Call(Made):
    sizes = functools.cached_property(sizes)

    @functools.cached_property
    def form(self):
        """The function, the forms of its arguments, and which are large; see `calls`."""
        return self.name, form(self.args), form(self.static), large_arguments(self)


class Yours:
    """`host` has call(name, args, static, opaque) -> (result, what was written into, in words), `calls` for many of one
    function, and `in_turn` for a sequence of steps (`values.Step`)

    host, made   where the functions run, and the calls that were answered since `forget`
    history      calls of earlier checks, too, the last of them last
    writers      functions that wrote into what they were given, in any check so far
    failed       functions that lost the points of a check so far
    interleaved  forms of calls that were answered alike between others
    """

    def __init__(self, lesson, host):
        self._lesson, self.host, self.history = lesson, host, collections.deque(maxlen=KEPT)
        self._wrote_once, self._lent, self.writers, self.failed, self._forms = [], [], set(), set(), {}
        self.interleaved = set()
        self.forget()

    def __getattr__(self, name):
        if name not in self._lesson.functions:
            raise AttributeError(f"{self._lesson.name} asks for no function {name!r}")
        return functools.partial(self._call, name)

    def repeated(self):
        """What the last call returns where it is made again, with the very cache."""
        call = self.made[-1]
        self._used -= set(map(id, call.args))
        return self._call(call.name, *call.args, **call.static)

    def untouched(self):
        """Raise Wrong if a function of this check wrote into what it was given, or returned it, in any check so far."""
        called = {call.name for call in self.made}
        for name, what in self._wrote_once:
            if name in called:
                raise Wrong(f"{name} wrote into {what}", cause_of(what), of=name)
        for name, what in self._lent:
            if name in called:
                raise Wrong(f"{name} returned {what}", cause_of(what), of=name)

    @property
    def wrote(self):
        """A sentence, if one did."""
        return "{} wrote into {}".format(*self._written[0]) if self._written else None

    def keep_forms(self, calls):
        """Keep one pair of each form, for `of_each_form`; `calls` says what these words mean."""
        for call, start in with_starts(repeatable(calls)):
            self._forms.setdefault(form_of(call, start), (call, start))

    def of_each_form(self, names):
        """The pairs of these functions, of all checks that were passed; each is returned once."""
        found = {key: pair for key, pair in self._forms.items() if pair and pair[0].name in names}
        self._forms |= dict.fromkeys(found)
        return list(found.values())

    @property
    def has_narrow_integers(self):
        """Does the file name integers of 16 bits? See `narrow`."""
        return has_narrow_integers(self.host.path)

    def forget(self):
        """A new check begins."""
        self._written, self.made, self._used = [], [], set()

    def returned_something(self, name):
        """Has a call of this function returned anything but zeros?"""
        return any(says_something(call.result) for call in self.made if call.name == name)

    def each(self, name, many):
        """The result of each of many calls, of which none needs what another returns. many: their arguments, no caches

        Some are made before they are wanted. Those that are not wanted any more count as never made.
        """
        many = list(many)
        answers = self.host.calls(name, [(args, {}) for args in many], self._lesson.opaque(name))
        for args in many:
            yield self._took(name, args, {}, *self._named(name, next, answers))

    def forward_and_back(self, pair, upstream, *args):
        """Return what X_backward returns after X_forward with these arguments; both are asked in one question."""
        forward, backward = f"{pair}_forward", f"{pair}_backward"
        (part,) = self._lesson.opaque(forward)
        steps = [Step(forward, args, {}, [part]), Step(backward, (upstream, CacheOf(0, part)), {}, [])]
        answers = self.host.in_turn(steps)
        cache = self._took(forward, args, {}, *self._named(forward, or_raised, next(answers)))[part]
        self._used.add(id(cache))
        return self._took(backward, (upstream, cache), {}, *self._named(backward, or_raised, next(answers)))

    def _call(self, name, *args, **static):
        args = tuple(self._unused(arg) for arg in args)
        answer = self._named(name, self.host.call, name, args, static, self._lesson.opaque(name))
        return self._took(name, args, static, *answer)

    def _named(self, name, ask, *args):
        """What ask(*args) returns; an error says in which function it was."""
        try:
            return ask(*args)
        except (NotWritten, Stopped) as error:
            error.of = name
            raise

    def _took(self, name, args, static, result, written):
        own = name in self._lesson.own_results
        self._lent += [(name, what) for what in written if what == GIVEN or (own and what.startswith(MEMORY_OF))]
        wrote = [(name, what) for what in written if not what.startswith(MEMORY_OF)]
        self._written += wrote
        self.writers |= {name for name, _ in wrote}
        self._wrote_once += self._written[:1]
        result = unpacked(name, result, self._lesson.functions[name])
        self.made.append(Call(name, args, static, result))
        self.history.append(self.made[-1])
        return result

    def _unused(self, arg):
        """A cache that no call had before: a second one is made, because a function may use its cache up."""
        if not isinstance(arg, Opaque):
            return arg
        if id(arg) in self._used:
            call, i = next((call, i) for call in self.made for i, part in self._caches(call) if part is arg)
            arg = self._call(call.name, *call.args, **call.static)[i]
        self._used.add(id(arg))
        return arg

    def _caches(self, call):
        return [(i, call.result[i]) for i in self._lesson.opaque(call.name)]


def or_raised(answer):
    if isinstance(answer, Exception):
        raise answer
    return answer


def unpacked(name, result, returns):
    """One value where one was promised (bare, or a tuple of one), else a tuple of as many."""
    if len(returns) == 1:
        return result[0] if type(result) is tuple and len(result) == 1 else result
    wanted = f"({', '.join(returns)})"
    if not isinstance(result, tuple | list):
        cause = "the return is missing" if result is None else None
        raise Wrong(f"{name} returned {kind(result)}; it must return {wanted}", cause, name)
    if name.endswith("_backward") and all(part is None for part in result[len(returns) :]):
        result = result[: len(returns)]              # None for forward's constants, too
    if len(result) != len(returns):
        raise Wrong(f"{name} returned {len(result)} values; it must return {len(returns)}: {wanted}", of=name)
    return tuple(result)


def says_something(value):
    """Is there a number in it that is not as good as zero, or a word? Caches do not count."""
    if isinstance(value, Opaque) or value is None:
        return False
    if isinstance(value, OnDevice):
        return says_something(value.host)
    if isinstance(value, dict):
        return any(map(says_something, value.values()))
    if isinstance(value, tuple | list | set):
        return any(map(says_something, value))
    if isinstance(value, float | complex) or getattr(getattr(value, "dtype", None), "kind", "") in ("f", "c"):
        return not (np.abs(value) <= LEAST).all()
    return bool(value.any()) if hasattr(value, "any") else bool(value)


def kind(value):
    if value is None:
        return "nothing (None)"
    if hasattr(value, "shape"):
        return "an array"
    return f"a {type(value).__name__}" if isinstance(value, dict | list | set | Opaque) else shown(value)
