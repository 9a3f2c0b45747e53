"""A GPU for machines without one: NumPy behind CuPy's manners, for exercise 12.

It computes nothing new. It is strict about where an array lives: an array of the device meets only arrays of the
device and numbers, never becomes a NumPy array by itself, and is read by `.get()` (or float, int, bool of a single
number). Every reading is a transfer; an array may be given out with a `Purse` of so many, and what is computed from
it pays from the same purse. In one thing it is stricter than CuPy: NumPy's own functions refuse its arrays always.

`sys.modules["cupy"]` is `cupy` below while a function runs that was given such an array.
"""

import sys
import types
from contextlib import contextmanager

import numpy as np

from .given import maker
from .withholding import OURS


class TransferError(RuntimeError):
    """Something was read from the device that need not be."""


class Purse:
    """Count how often arrays are read, and refuse once that is more than `transfers` (None: no limit)."""

    def __init__(self, transfers=None):
        self.left = transfers

    def pay(self, what, caller):
        if self.left is None or caller.startswith(OURS):              # the exercise's own reading costs nothing
            return
        self.left -= 1
        if self.left < 0:
            raise TransferError(f"{what} copies from the device to the host and waits for all work before it")


class ndarray:
    """CuPy's, as far as anybody can tell."""

    __array_ufunc__ = None                           # NumPy's operators refuse it
    __hash__ = None
    __module__ = "cupy"
    _pretended = True

    def __init__(self, host, purse=None):
        self._host, self._purse = host, purse or Purse()

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy "
                        "array explicitly.")  # fmt: skip

    def get(self):
        return self._read(".get()", np.ndarray.copy)

    def item(self):
        return self._read(".item()", np.ndarray.item)

    def tolist(self):
        return self._read(".tolist()", np.ndarray.tolist)

    def __float__(self):
        return self._read("float()", float)

    def __int__(self):
        return self._read("int()", int)

    def __index__(self):
        raise TypeError("an array of the device is no index of Python's; int(x) would copy it to the host")

    def __bool__(self):
        return self._read("the truth value of an array (if, while, and, or)", bool)

    def _read(self, what, how):
        self._purse.pay(what, sys._getframe(2).f_globals.get("__name__", ""))
        return how(self._host)

    def __getattr__(self, name):
        if name.startswith("__"):                    # __array_interface__ would be a way out
            raise AttributeError(f"an array of the device has no {name}")
        value = getattr(self._host, name)
        if callable(value):
            method = getattr(np.ndarray, name)
            return lambda *args, **kwargs: run(method, self, *args, **kwargs)
        return on_device(value, self._purse)

    def __setitem__(self, index, value):
        run(np.ndarray.__setitem__, self, index, value)

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        return (on_device(row, self._purse) for row in self._host)

    def __repr__(self):
        return f"<an array of the device, {self._host.dtype} {self._host.shape}>"


def operator(name):
    method = getattr(np.ndarray, name)
    return lambda self, *others: run(method, self, *others)


OPERATORS = ("getitem add radd sub rsub mul rmul truediv rtruediv floordiv mod matmul rmatmul pow rpow neg abs invert "
             "lt le gt ge eq ne and or xor iadd isub imul itruediv")  # fmt: skip
for name in OPERATORS.split():
    setattr(ndarray, f"__{name}__", operator(f"__{name}__"))


def run(operation, *args, **kwargs):
    """What every operation goes through: hosts' arrays stay outside, and what comes out is on the device."""
    purse = Purse()
    for value in (*args, *kwargs.values()):
        for part in value if isinstance(value, tuple | list) else (value,):
            purse = part._purse if isinstance(part, ndarray) and part._purse.left is not None else purse
    if isinstance(kwargs.get("out"), ndarray):
        operation(*on_host(args), **on_host(kwargs))
        return kwargs["out"]
    result = operation(*on_host(args), **on_host(kwargs))
    return args[0] if args and isinstance(args[0], ndarray) and result is args[0]._host else on_device(result, purse)


def on_device(value, purse):
    if isinstance(value, np.ndarray | np.generic) and not isinstance(value, np.dtype):
        return ndarray(np.asarray(value), purse)
    if type(value) in (tuple, list):
        return type(value)(on_device(part, purse) for part in value)
    return value


def on_host(value):
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>: an array of NumPy met one of the device")
    if type(value) in (tuple, list):
        return type(value)(on_host(part) for part in value)
    if isinstance(value, dict):
        return {key: on_host(part) for key, part in value.items()}
    return value


class Ufunc:
    """np.add and the like, with their own methods: at, reduce, ..."""

    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __call__(self, *args, **kwargs):
        return run(self.ufunc, *args, **kwargs)

    def __getattr__(self, name):
        return lambda *args, **kwargs: run(getattr(self.ufunc, name), *args, **kwargs)


def library(name, numpys):
    """A module whose functions are those of NumPy's, on the device."""
    module = types.ModuleType(name)

    def find(key):
        value = getattr(numpys, key)
        if isinstance(value, np.ufunc):
            return Ufunc(value)
        if isinstance(value, types.ModuleType):
            return library(f"{name}.{key}", value)
        if isinstance(value, type) or not callable(value):
            return value
        return lambda *args, **kwargs: run(value, *args, **kwargs)

    module.__getattr__ = find
    return module


def asarray(value, dtype=None, **kwargs):
    """The one way in from the host."""
    if isinstance(value, ndarray):
        return value if dtype in (None, value.dtype) else value.astype(dtype)
    if isinstance(value, list | tuple) and any(isinstance(part, ndarray) for part in value):
        return run(np.asarray, value, dtype=dtype)
    return ndarray(np.array(value, dtype))


def asnumpy(value):
    return value._read("asnumpy", np.ndarray.copy) if isinstance(value, ndarray) else np.asarray(value)


cupy = library("cupy", np)
cupy.ndarray, cupy.asarray, cupy.array, cupy.asnumpy = ndarray, asarray, asarray, asnumpy
cupy.get_array_module = lambda *args: cupy if any(isinstance(value, ndarray) for value in args) else np


@maker("on the device")
def put(array, transfers=None):
    """The array on the device; it may be read so many times."""
    sys.modules["cupy"] = cupy
    return ndarray(np.array(array), Purse(transfers))


@maker("numbers on the device")
def put_each(array, transfers=None):
    """[each number of the array alone on the device], with one purse"""
    sys.modules["cupy"] = cupy
    purse = Purse(transfers)
    return [ndarray(np.array(number), purse) for number in array]


@contextmanager
def pretending():
    """Afterwards sys.modules is as before."""
    before = sys.modules.get("cupy")
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop("cupy", None)
        else:
            sys.modules["cupy"] = before
