"""What a pair promises beside right numbers, and how it is told where a promise is broken.

    y, cache = forward(x, *params, **static)         dx, *dparams = backward(dy, cache)

Nothing is written into that was given; the same call gives the same result; an integer has no gradient.
"""

import functools
from collections.abc import Iterable

import numpy as np

from ..arguments import of_kind, shown
from .compare import GradientError


def arguments(name, args, constants):
    """args with its floats in float64, and the ones among them that get a gradient."""
    if not isinstance(args, dict) or not args:
        raise GradientError(f"{name}: args is {kind_of(args)}; it must be a dict, such as {{'x': x}}")
    for key, x in args.items():
        if not hasattr(x, "dtype"):
            raise GradientError(f"{name}: args[{key!r}] is {shown(x)}, no array; settings go into "
                                f"static={{{key!r}: ...}}")
    constants = list(of_kind("constants", constants, Iterable))
    if unknown := [key for key in constants if key not in list(args)]:
        raise GradientError(f"{name}: constants names {shown(unknown[0])}; the arguments are {', '.join(args)}")
    tensors = {key: x.astype(np.float64) for key, x in args.items() if x.dtype.kind == "f" and key not in constants}
    if not tensors:
        dtypes = ", ".join(f"{key} of {x.dtype}" for key, x in args.items())
        raise GradientError(f"{name}: there is no gradient to check; arguments are {dtypes}, and only floats have one")
    return args | tensors, tensors


class CheckedPair:
    """A forward and a backward function that say clearly where they are not a pair."""

    def __init__(self, forward, backward, static, name=None):
        function = forward.func if isinstance(forward, functools.partial) else forward
        self.name = name or getattr(function, "__name__", type(function).__name__).removesuffix("_forward")
        self._forward, self._backward, self._static = forward, backward, static

    def forward(self, args):
        result = self._forward(*args.values(), **self._static)
        if not isinstance(result, tuple) or len(result) != 2:
            raise GradientError(f"forward of {self.name} returned {kind_of(result)}; it must return (y, cache)")
        if not hasattr(result[0], "dtype"):
            raise GradientError(f"forward of {self.name} returned {kind_of(result[0])} for y; it must be an array")
        return result

    def backward(self, args, cache, dy):
        """Gradients by argument name."""
        result = self._backward(dy, cache)
        wanted = ", ".join(f"d{key}" for key in args)
        if not isinstance(result, tuple | list):
            found = kind_of(result)
            raise GradientError(f"backward of {self.name} returned {found}; it must return a tuple: ({wanted},)")
        if len(result) != len(args):
            counts = f"{len(result)} gradients for {len(args)} arguments"
            raise GradientError(f"backward of {self.name} returned {counts}: {wanted}")
        return {key: g.copy() if hasattr(g, "copy") else g for key, g in zip(args, result, strict=True)}

    def gradients(self, args, tensors, y, cache, dy):
        """Gradients by name, and a (name, note) for each promise that is broken."""
        before = {key: x.copy() for key, x in args.items()}
        given = dy.copy()
        gradients = self.backward(args, cache, given)
        again = self.backward(args, cache, dy.copy())

        broken = []
        if not _same(given, dy):
            broken.append(("dy", "was modified: backward must not write into what it is given"))
        for key, x in args.items():
            if not _same(x, before[key]):
                broken.append((key, "was modified: neither forward nor backward may write into an argument"))
            elif key not in tensors:
                if gradients[key] is not None:
                    kind = "is declared constant" if x.dtype.kind == "f" else f"holds whole numbers ({x.dtype})"
                    broken.append((f"d{key}", f"is not None, but {key} {kind} and has no gradient"))
            elif not _same(gradients[key], again[key]):
                broken.append((f"d{key}", "is another when backward is called again with the same cache"))
        if not broken and not _same(self.forward(args)[0], y):
            broken.append(("y", "is another when forward is called again: make randomness an argument"))
        return gradients, broken


def _same(a, b):
    if a is None or b is None or not hasattr(a, "shape") or not hasattr(b, "shape"):
        return True                                  # told elsewhere
    return a.shape == b.shape and bool(((a == b) | (a != a)).all())      # a != a: not a number, told elsewhere


def kind_of(value):
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "an array" if hasattr(value, "dtype") else f"a {type(value).__name__}"
