"""A GPU for machines without one: NumPy behind CuPy's manners, for exercise 12.

It computes nothing new. It is strict about where an array lives: an array of the device meets only arrays of the
device and numbers, never becomes a NumPy array by itself, and is read by `.get()` (or float, int, bool of a single
number). Every reading is a transfer; an array may be given out with so many, and what is computed from it shares
them. In one thing it is stricter than CuPy: NumPy's own functions refuse its arrays always.

`ndarray` holds the number of an array in a `DeviceMemory`, which is in this process, or a grader's in another (`use`).
`sys.modules["cupy"]` is `cupy` below while a function runs that was given such an array.
"""

import builtins
import math
import sys
import types
from contextlib import contextmanager

import numpy as np

from .device_memory import DeviceMemory, TransferError
from .given import Given
from .values import OnDevice
from .withholding import is_ours

ALONE = {"on the device", "the same on the device"}  # kinds of Given
KINDS = {*ALONE, "numbers on the device"}
memory = DeviceMemory()


def use(other):
    """Something with `do`, as a DeviceMemory has it, in place of the memory of this process."""
    global memory
    memory = other


class ndarray:
    """CuPy's, as far as anybody can tell."""

    __array_ufunc__ = None                           # NumPy's operators refuse it
    __hash__ = None
    __module__ = "cupy"
    _pretended = True

    def __init__(self, number, dtype, shape):
        self._number, self.dtype, self.shape = number, np.dtype(dtype), tuple(shape)
        self.ndim, self.size = len(self.shape), math.prod(self.shape)

    def __array_function__(self, function, types, args, kwargs):
        if function in (np.ndim, np.shape, np.size) and len(args) + len(kwargs) == 1:      # they read no numbers
            return getattr(self, function.__name__)
        raise TypeError(f"np.{function.__name__} takes no array of the device")

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy "
                        "array explicitly.")  # fmt: skip

    device, data = types.SimpleNamespace(id=0), types.SimpleNamespace(ptr=0, device_id=0)

    def __dlpack_device__(self):
        return 2, 0                                  # CUDA, the first card

    @property
    def __cuda_array_interface__(self):
        """What tells that an array is on a GPU. The address leads nowhere."""
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (0, True), "version": 3}

    def get(self):
        if is_ours(types.SimpleNamespace(__module__=sys._getframe(1).f_globals.get("__name__"))):
            return memory.fetch(self._number)        # the exercise's own reading costs nothing
        return do("read", "get", self)

    def item(self):
        return do("read", "item", self)

    def tolist(self):
        return do("read", "tolist", self)

    def __float__(self):
        return do("read", "float()", self)

    def __int__(self):
        return do("read", "int()", self)

    def __complex__(self):
        return do("read", "complex()", self)

    def __index__(self):
        raise TypeError("an array of the device is no index of Python's; int(x) would copy it to the host")

    def __bool__(self):
        return do("read", "the truth value of an array (if, while, and, or)", self)

    def __getattr__(self, name):
        if name.startswith("_") or not hasattr(np.ndarray, name):    # __array_interface__ would be a way out
            raise AttributeError(f"an array of the device has no {name}")
        if callable(getattr(np.ndarray, name)):
            return lambda *args, **kwargs: do("method", name, self, *args, **kwargs)
        return do("attribute", name, self)

    def __setitem__(self, index, value):
        do("method", "__setitem__", self, index, value)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"<an array of the device, {self.dtype} {self.shape}>"


def operator(name):
    return lambda self, *others: do("method", name, self, *others)


def operator_in_place(name):
    """The array itself comes back, as NumPy's does: x += y keeps what x is."""

    def change(self, other):
        do("method", name, self, other)
        return self

    return change


OPERATORS = ("getitem add radd sub rsub mul rmul truediv rtruediv floordiv mod matmul rmatmul pow rpow neg abs invert "
             "lt le gt ge eq ne and or xor")  # fmt: skip
for name in OPERATORS.split():
    setattr(ndarray, f"__{name}__", operator(f"__{name}__"))
for name in "iadd isub imul itruediv".split():
    setattr(ndarray, f"__{name}__", operator_in_place(f"__{name}__"))


def do(what, name, *args, **kwargs):
    """What every operation goes through: hosts' arrays stay outside, and what comes out is on the device."""
    return received(memory.do(what, name, sent(args), sent(kwargs)))


def sent(value):
    """Arguments as a request holds them."""
    if isinstance(value, ndarray):
        return OnDevice(value._number)
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>: an array of NumPy met one of the device")
    if isinstance(value, np.generic | complex):
        return Given.of("number", np.asarray(value))
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, (np.generic, float, int, bool))):
        return Given.of("dtype", np.dtype(value).str)
    if isinstance(value, slice):
        return Given.of("slice", sent(value.start), sent(value.stop), sent(value.step))
    if value is ...:
        return Given.of("ellipsis")
    if isinstance(value, tuple | list | range | types.GeneratorType):
        return tuple(map(sent, value)) if isinstance(value, tuple) else list(map(sent, value))
    if isinstance(value, dict):
        return {key: sent(part) for key, part in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"Unsupported type {type(value)}: the device takes numbers and its own arrays")


def received(answer):
    kind, inside = next(iter(answer.items()))
    if kind == "array":
        return ndarray(*inside)
    if kind == "dtype":
        return np.dtype(inside)
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](map(received, inside))
    if kind == "error":
        known = (getattr(builtins, name, None) for name in inside)
        error = next((cls for cls in known if isinstance(cls, type) and issubclass(cls, Exception)), RuntimeError)
        raise (TransferError if "TransferError" in inside else error)(answer["text"])
    return inside


class Ufunc:
    """np.add and the like, with their own methods: at, reduce, ..."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self, *args, **kwargs):
        for arg in args:
            if isinstance(arg, list | tuple):
                raise TypeError(f"Unsupported type {type(arg)}: {self.__name__} takes arrays and numbers")
        return do("numpy", self.__name__, *args, **kwargs)

    def __getattr__(self, name):
        return lambda *args, **kwargs: do("numpy", f"{self.__name__}.{name}", *args, **kwargs)


def library(name, numpys):
    """A module whose functions are those of NumPy's, on the device."""
    module = types.ModuleType(name)
    prefix = name.removeprefix("cupy").lstrip(".")

    def find(key):
        value = getattr(numpys, key)
        dotted = f"{prefix}.{key}" if prefix else key
        if isinstance(value, np.ufunc):
            return Ufunc(dotted)
        if isinstance(value, types.ModuleType):
            return library(f"{name}.{key}", value)
        if isinstance(value, type) or not callable(value):
            return value
        return lambda *args, **kwargs: do("numpy", dotted, *args, **kwargs)

    module.__getattr__ = find
    return module


def asarray(value, dtype=None, **kwargs):
    """The one way in from the host."""
    if isinstance(value, ndarray):
        return value if dtype in (None, value.dtype) else value.astype(dtype)
    if isinstance(value, list | tuple) and any(isinstance(part, ndarray) for part in value):
        return do("numpy", "asarray", value, dtype=dtype)
    return received(memory.do("put", "", (np.array(value, dtype),), {}))


def array(value, dtype=None, copy=True, **kwargs):
    """As `asarray`, and by default a copy, as NumPy's and CuPy's are."""
    made = asarray(value, dtype, **kwargs)
    return made.copy() if made is value and copy else made


def asnumpy(value):
    return do("read", "get", value) if isinstance(value, ndarray) else np.asarray(value)


cupy = library("cupy", np)
cupy.ndarray, cupy.asarray, cupy.array, cupy.asnumpy = ndarray, asarray, array, asnumpy
cupy.get_array_module = lambda *args: cupy if any(isinstance(value, ndarray) for value in args) else np


def put(array, transfers=None):
    """The array on the device; it may be read so many times."""
    return put_each([array], transfers)[0]


def put_each(arrays, transfers=None):
    """[each on the device], which may together be read so many times"""
    return there(memory.put(arrays, transfers))


def there(descriptions):
    """Arrays that are on the device already."""
    sys.modules["cupy"] = cupy
    return [received(description) for description in descriptions]


def is_for_device(value):
    return isinstance(value, Given) and value.kind in KINDS


@contextmanager
def pretending(calls=()):
    """CuPy is there if one of these calls was given something of the device; afterwards sys.modules is as before."""
    before = sys.modules.get("cupy")
    if any(map(is_for_device, (arg for call in calls for arg in call.args))):
        sys.modules["cupy"] = cupy
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop("cupy", None)
        else:
            sys.modules["cupy"] = before
