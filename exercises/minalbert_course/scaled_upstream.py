"""A backward pass is linear: of -2 dy it gives -2 times what it gives of dy.

It is asked for both after forward passes of its own, and before both for that of other numbers in the same shapes.
Whoever keeps what a backward pass returned and hands it out again, by shape, say, then answers differently.
"""

import contextlib

import numpy as np

from .compare import Wrong
from .interleaving import KEPT, alike, by_name, other, repeatable
from .yours import NotWritten, Opaque, Stopped

FACTOR = -2.0                                        # a power of two, which rounds nothing
MOST = 6                                             # backward passes of a check


def with_scaled_upstream(lesson, host, calls):
    """Raise Wrong where a backward pass is not linear."""
    forwards = {id(part): call for call in calls for part in results(call) if isinstance(part, Opaque)}
    passes = [(call, forwards.get(id(call.args[1]))) for call in repeatable(calls) if is_backward(call)]
    for call, forward in [(call, forward) for call, forward in passes if forward is not None][:MOST]:
        try:
            ask(lesson, host, call, forward)
        except (NotWritten, Stopped) as error:
            raise Wrong(f"called again after other calls, {error}", KEPT, call.name) from error


def is_backward(call):
    upstream = call.args[0] if len(call.args) == 2 and call.name.endswith("_backward") else None
    return isinstance(upstream, float) or (isinstance(upstream, np.ndarray) and upstream.dtype.kind == "f")


def ask(lesson, host, call, forward):
    dy, cache = call.args

    def cache_of(args):
        """That of a new forward pass."""
        made = host.call(forward.name, args, forward.static, lesson.opaque(forward.name))[0]
        return made[next(i for i, part in enumerate(forward.result) if part is cache)]

    def gradients(dy, cache):
        return host.call(call.name, (dy, cache), call.static, ())[0]

    mine, scaled = cache_of(forward.args), cache_of(forward.args)
    with contextlib.suppress(NotWritten, Stopped):   # other numbers may be none that it takes
        gradients(other(dy), cache_of(tuple(other(arg) for arg in forward.args)))
    for factor, cache_again in ((1.0, mine), (FACTOR, scaled)):
        for name, before, after in by_name(lesson, call, gradients(factor * dy, cache_again)):
            if not alike(times(factor, before), after):
                where = f"dy is {factor:g} times as large" if factor != 1 else "other calls come in between"
                raise Wrong(f"{name} of {call.name} is not what it must be where {where}", KEPT, call.name)


def results(call):
    return call.result if isinstance(call.result, tuple) else (call.result,)


def times(factor, value):
    if isinstance(value, dict):
        return {key: times(factor, part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(times(factor, part) for part in value)
    return factor * value if isinstance(value, np.ndarray | np.generic | float | int) else value
