"""The student's functions, as a check sees them: called by name, what they return unpacked by name.

    context, cache = yours.attention_forward(q, k, v, mask)

Wherever they run (`here`, or `grade.worker`, in a process of their own), they get copies, so that a function which
writes into its arguments spoils nothing; `yours.untouched()` reports it.
"""

import functools

from .compare import Wrong, shown
from .values import NotWritten, Opaque, Stopped
from .values import OnDevice as OnDevice  # for the lessons

IN_PLACE = (
    "something that works in place on what was given: +=, *=, out=, x[...] =, and with lists and dicts pop, append or "
    "an assignment; make a new one first"
)


class Yours:
    """`host` has call(name, args, static, opaque) -> (result, names of arguments that were written into)"""

    def __init__(self, lesson, host):
        self._lesson, self._host, self._written = lesson, host, []

    def __getattr__(self, name):
        if name not in self._lesson.functions:
            raise AttributeError(f"{self._lesson.name} asks for no function {name!r}")
        return functools.partial(self._call, name)

    def untouched(self):
        """Raise Wrong if a function wrote into what it was given."""
        if self.wrote:
            raise Wrong(self.wrote, IN_PLACE, of=self._written[0][0])

    @property
    def wrote(self):
        """A sentence, if one did."""
        return "{} wrote into its argument {}".format(*self._written[0]) if self._written else None

    def forget(self):
        """A new check begins."""
        self._written = []

    def _call(self, name, *args, **static):
        returns = self._lesson.functions[name]
        opaque = [i for i, part in enumerate(returns) if part.startswith("cache")]
        try:
            result, written = self._host.call(name, args, static, opaque)
        except (NotWritten, Stopped) as error:
            error.of = name
            raise
        self._written += [(name, argument) for argument in written]
        return unpacked(name, result, returns)


def unpacked(name, result, returns):
    """One value where one was promised (bare, or a tuple of one), else a tuple of as many."""
    if len(returns) == 1:
        return result[0] if type(result) is tuple and len(result) == 1 else result
    wanted = f"({', '.join(returns)})"
    if not isinstance(result, tuple | list):
        raise Wrong(f"{name} returned {kind(result)}; it must return {wanted}", of=name)
    if len(result) != len(returns):
        raise Wrong(f"{name} returned {len(result)} values; it must return {len(returns)}: {wanted}", of=name)
    return tuple(result)


def kind(value):
    if value is None:
        return "nothing (None)"
    if hasattr(value, "shape"):
        return "an array"
    return f"a {type(value).__name__}" if isinstance(value, dict | list | set | Opaque) else shown(value)
