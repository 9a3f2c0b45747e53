"""The memory of the pretended GPU: the arrays, what is computed with them, and how often they may be read.

`pretended_gpu` has what a student's function holds: numbers of arrays here. The two talk by requests and answers of
plain values, so that the grader keeps this half in a process of its own, out of a submission's reach, and counts here.
"""

import math
from contextlib import contextmanager

import numpy as np

from .given import Given
from .values import OnDevice, parts

FORBIDDEN = set(
    "load save savez savez_compressed loadtxt savetxt genfromtxt fromfile fromregex memmap frompyfunc vectorize "
    "tofile dump dumps apply_along_axis apply_over_axes piecewise fromfunction fromiter show_config show_runtime "
    "info get_include getbuffer setflags".split()
)
FREE = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "result_type"}    # what the host knows
READS = {"get": np.ndarray.copy, "item": np.ndarray.item, "tolist": np.ndarray.tolist, "float()": float, "int()": int,
         "complex()": complex, "the truth value of an array (if, while, and, or)": bool}  # fmt: skip


class TransferError(RuntimeError):
    """Something was read from the device that need not be."""


class Purse:
    """So many readings are allowed; None: any number."""

    def __init__(self, transfers):
        self.left = math.inf if transfers is None else transfers

    def pay(self, what):
        self.left -= 1
        if self.left < 0:
            raise TransferError(f"{what} copies from the device to the host and waits for all work before it")


class DeviceMemory:
    def __init__(self):
        self.arrays = []
        self.purses = {}                             # by the id of the array that owns the memory

    def put(self, arrays, transfers=None):
        """Copies of host's arrays, with one purse; [how each is described]"""
        purse = Purse(transfers)
        return [self.kept(np.array(array), purse) for array in arrays]

    def put_all(self, requests):
        """Put each (arrays, transfers), as `put` does."""
        return [self.put(*request) for request in requests]

    def fetch(self, number):
        """An array's copy, for the exercise itself: it costs nothing."""
        return self.arrays[number].copy()

    def fetch_all(self, numbers):
        return [self.fetch(number) for number in numbers]

    def do(self, what, name, args, kwargs):
        """"numpy", "method", "attribute", "read" or "put". Returns plain values; those of an error, too."""
        try:
            if what == "put":
                return self.put(args)[0]
            if what == "read":
                return {"value": self.read(name, args[0])}
            function, given = found(what, name), self.given((args, kwargs))
            purse = min(map(self.purse, given), key=lambda purse: purse.left, default=Purse(None))
            with self.written_into(given, purse):
                result = function(*self.opened(args), **self.opened(kwargs))
            return self.described(result, purse, name)
        except Exception as error:
            names = [cls.__name__ for cls in type(error).__mro__]
            return {"error": names, "text": str(error)[:600]}

    def read(self, how, place):
        array = self.arrays[place.host]
        self.purse(array).pay(f".{how}()" if how.isalpha() else how)
        return READS[how](array)

    def purse(self, array):
        return self.purses[id(owner(array))]

    @contextmanager
    def written_into(self, given, purse):
        """Give this purse to each array that has a fuller one and other numbers afterwards, and to its views."""
        fuller = [owner(array) for array in given if self.purse(array).left > purse.left]
        before = [array.tobytes() for array in fuller]
        try:
            yield
        finally:
            for array, numbers in zip(fuller, before, strict=True):
                if array.tobytes() != numbers:
                    self.purses[id(array)] = purse

    def given(self, value):
        """All arrays in a request's values"""
        if isinstance(value, OnDevice):
            return [self.arrays[value.host]]
        return [found for part in parts(value) for found in self.given(part)]

    def opened(self, value):
        """A request's values as NumPy takes them."""
        if isinstance(value, OnDevice):
            return self.arrays[value.host]
        if isinstance(value, Given):
            return OPENED[value.kind](*self.opened(value.args))
        if type(value) in (tuple, list):
            return type(value)(self.opened(part) for part in value)
        return {key: self.opened(part) for key, part in value.items()} if type(value) is dict else value

    def kept(self, array, purse):
        self.arrays.append(array)
        known = self.purses.setdefault(id(owner(array)), purse)
        if purse.left < known.left:
            self.purses[id(owner(array))] = purse
        return self.entry(len(self.arrays) - 1)

    def entry(self, number):
        array = self.arrays[number]
        return {"array": [number, array.dtype.str, list(array.shape)]}

    def described(self, result, purse, name):
        """What comes out is read at the cost of what went in."""
        if isinstance(result, np.ndarray | np.generic):
            return self.kept(np.asarray(result), purse)
        if type(result) in (tuple, list) and name not in FREE:
            return {type(result).__name__: [self.described(part, purse, name) for part in result]}
        if isinstance(result, np.dtype):
            return {"dtype": result.str}
        if result is NotImplemented:
            return {"error": ["TypeError"], "text": f"{name} cannot be computed with these operands"}
        if result is not None and name not in FREE:
            purse.pay(name)                          # a number of Python's is on the host
        return {"value": result}


def owner(array):
    """The array whose memory this one looks at: itself, or that of which it is a view."""
    base = array.base.obj if isinstance(array.base, memoryview) else array.base
    return owner(base) if isinstance(base, np.ndarray) else array


OPENED = {"slice": slice, "dtype": np.dtype, "ellipsis": lambda: ..., "number": lambda array: array[()]}


def found(what, name):
    """A function of NumPy's, or a method or an attribute of its arrays, that computes and does nothing else."""
    first, *rest = name.split(".")
    if {first, *rest} & FORBIDDEN:
        raise AttributeError(f"the device has no {name}")
    if what == "attribute":
        return lambda array: getattr(array, name)
    if what == "method":
        return getattr(np.ndarray, name)
    value = getattr(np.linalg if first == "linalg" else np, rest.pop(0) if first == "linalg" else first)
    if isinstance(value, np.ufunc):
        return getattr(value, rest[0]) if rest else value
    if rest or not callable(value) or not str(value.__module__).startswith("numpy"):
        raise AttributeError(f"the device has no {name}")
    return value
