"""The memory of the pretended GPU: the arrays, what is computed with them, and how often they may be read.

`pretended_gpu` has what a student's function holds: numbers of arrays here. The two talk by requests and answers of
plain values, so that the grader keeps this half in a process of its own, out of a submission's reach, and counts here.
"""

import math
from contextlib import contextmanager

import numpy as np

from .given import Given
from .shared_memory import owning_array
from .values import OnDevice, parts

FORBIDDEN = set(
    "load save savez savez_compressed loadtxt savetxt genfromtxt fromfile fromregex memmap frompyfunc vectorize "
    "tofile dump dumps apply_along_axis apply_over_axes piecewise fromfunction fromiter show_config show_runtime "
    "info get_include getbuffer setflags from_dlpack __dlpack__".split()
)
FREE = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "result_type"}    # what the host knows
READS = {"get": np.ndarray.copy, "item": np.ndarray.item, "tolist": np.ndarray.tolist, "float()": float, "int()": int,
         "complex()": complex, "the truth value of an array (if, while, and, or)": bool}  # fmt: skip

ERRORS = 10                                          # that are answered: each says something of the numbers
SHAPE_BITS = 192                                     # that are answered of shapes that depend on numbers: x[rows == v]
HIDDEN = "the device does not tell this error's text, which would be a transfer: it depends on the numbers"


class TransferError(RuntimeError):
    """Something was read from the device that need not be."""


class TransferBudget:
    """How much more the host may learn of the numbers of some arrays, and of those that are computed from them.

    transfers   so many readings are allowed; None: any number
    number      of two budgets with a limit, the newer has the larger one
    """

    def __init__(self, transfers, number=0):
        limited = transfers is not None
        self.left, self.number = (transfers, number) if limited else (math.inf, -1)
        self.errors_left, self.shape_bits_left = (ERRORS, SHAPE_BITS) if limited else (math.inf, math.inf)

    @contextmanager
    def counting_errors(self):
        """Count the error of a request; after too many of them refuse every request."""
        if self.errors_left == 0:
            raise TransferError("so many errors are a transfer")
        try:
            yield
        except Exception:
            self.errors_left -= 1
            raise

    def spend_shape_bits(self, bits, what):
        """Answer a shape that depends on numbers. A loop over rows asks for some; too many cost readings."""
        self.shape_bits_left -= bits
        if self.shape_bits_left < 0:
            self.spend(what)

    def spend(self, what):
        """Use up one reading."""
        self.left -= 1
        if self.left < 0:
            raise TransferError(f"{what} copies from the device to the host and waits for all work before it")


class DeviceMemory:
    def __init__(self):
        self.arrays = []
        self.budgets = {}                            # by the id of the array that owns the memory

    def put(self, arrays, transfers=None):
        """Copy arrays of the host, which get one budget; return a description of each."""
        budget = TransferBudget(transfers, len(self.arrays))
        return [self.kept(np.array(array), budget) for array in arrays]

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
            return self.computed(found(what, name), args, kwargs, name)
        except Exception as error:
            return failed(error)

    def read(self, how, place):
        array = self.arrays[place.host]
        budget = self.budget(array)
        with budget.counting_errors():
            budget.spend(f".{how}()" if how.isalpha() else how)
        return READS[how](array)

    def computed(self, function, args, kwargs, name):
        given = self.given((args, kwargs))
        budget = max(map(self.budget, given), key=lambda budget: budget.number, default=TransferBudget(None))
        try:
            with budget.counting_errors(), self.written_into(given, budget):
                result = function(*self.opened(args), **self.opened(kwargs))
        except Exception as error:
            others = self.otherwise(function, args, kwargs)
            known = isinstance(error, TransferError) or budget.left == math.inf or str(error) in map(str, others)
            return failed(error, str(error) if known else HIDDEN)
        with budget.counting_errors():
            if on_host(result, name):
                budget.spend(name)
            elif budget.left < math.inf:
                usual = first_outline(self.otherwise(function, args, kwargs))
                bits = bits_told(outline(result), usual)
                budget.spend_shape_bits(bits, f"{name}, whose shape depends on the numbers,")
        return self.described(result, budget, name)

    def otherwise(self, function, args, kwargs):
        """What a request does with zeros and with ones in place of the numbers that cost something: results, errors."""
        for number in (0, 1):
            with np.errstate(all="ignore"):
                try:
                    yield function(*self.opened(args, number), **self.opened(kwargs, number))
                except Exception as error:
                    yield error

    def budget(self, array):
        return self.budgets[id(owning_array(array))]

    @contextmanager
    def written_into(self, given, budget):
        """Give this budget to each array that is free to read, and to its views, whatever is done: to look whether
        it changed would tell something of the numbers. And to each other one that has other numbers afterwards.
        """
        others = [owning_array(array) for array in given if self.budget(array) is not budget]
        self.budgets |= {id(array): budget for array in others if self.budgets[id(array)].left == math.inf}
        limited = [array for array in others if self.budgets[id(array)] is not budget]
        before = [array.tobytes() for array in limited]
        try:
            yield
        finally:
            for array, numbers in zip(limited, before, strict=True):
                if array.tobytes() != numbers:
                    self.budgets[id(array)] = budget

    def given(self, value):
        """All arrays in a request's values"""
        if isinstance(value, OnDevice):
            return [self.arrays[value.host]]
        if isinstance(value, Given):                 # a slice may hold arrays
            return self.given(value.args)
        return [found for part in parts(value) for found in self.given(part)]

    def opened(self, value, number=None):
        """A request's values as NumPy takes them; with a number, all arrays are copies (see `instead`)."""
        if isinstance(value, OnDevice):
            array = self.arrays[value.host]
            return array if number is None else self.instead(array, number)
        if isinstance(value, Given):
            return OPENED[value.kind](*self.opened(value.args, number))
        if type(value) in (tuple, list):
            return type(value)(self.opened(part, number) for part in value)
        return {key: self.opened(part, number) for key, part in value.items()} if type(value) is dict else value

    def instead(self, array, number):
        """A copy of an array that is free to read; of another only the shape and the dtype"""
        return array.copy() if self.budget(array).left == math.inf else np.full_like(array, number)

    def kept(self, array, budget):
        self.arrays.append(array)
        known = self.budgets.setdefault(id(owning_array(array)), budget)
        self.budgets[id(owning_array(array))] = max(known, budget, key=lambda budget: budget.number)
        return self.entry(len(self.arrays) - 1)

    def entry(self, number):
        array = self.arrays[number]
        return {"array": [number, array.dtype.str, list(array.shape)]}

    def described(self, result, budget, name):
        """What comes out is read at the cost of what went in."""
        if isinstance(result, np.ndarray | np.generic):
            return self.kept(np.asarray(result), budget)
        if type(result) in (tuple, list) and name not in FREE:
            return {type(result).__name__: [self.described(part, budget, name) for part in result]}
        if isinstance(result, np.dtype):
            return {"dtype": result.str}
        if result is NotImplemented:
            return {"error": ["TypeError"], "text": f"{name} cannot be computed with these operands"}
        return {"value": result}


def on_host(result, name):
    """True where something of a result is a value of Python's, but for those that cost nothing"""
    if name in FREE or result is None or result is NotImplemented:
        return False
    if type(result) in (tuple, list):
        return any(on_host(part, name) for part in result)
    return not isinstance(result, np.ndarray | np.generic | np.dtype)


def outline(result):
    """A result's shapes and dtypes, which the host knows"""
    if isinstance(result, np.ndarray | np.generic):
        return result.dtype, result.shape
    return [outline(part) for part in result] if type(result) in (tuple, list) else result


def bits_told(one, usual):
    """How much an outline tells beyond the usual one: the bits of the sizes that are others"""
    if isinstance(one, list):
        others = usual if isinstance(usual, list) and len(usual) == len(one) else [None] * len(one)
        return sum(map(bits_told, one, others))
    if one == usual or not isinstance(one, tuple):
        return int(one != usual)
    shape, expected = one[1], usual[1] if isinstance(usual, tuple) and len(usual[1]) == len(one[1]) else one[1]
    sizes = [size for size, other in zip(shape, expected, strict=True) if size != other or expected is shape]
    return sum(max(1, size.bit_length()) for size in sizes) or 1


def first_outline(results):
    """That of the first that is no error; of errors alone None"""
    return next((outline(result) for result in results if not isinstance(result, Exception)), None)


def failed(error, text=None):
    names = [cls.__name__ for cls in type(error).__mro__]
    return {"error": names, "text": (str(error) if text is None else text)[:600]}


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
