"""A GPU for machines without one: NumPy behind CuPy's manners.

It computes nothing new. It is as strict as CuPy about where an array lives: a device array meets only device
arrays and numbers, never turns into a NumPy array by itself, and is read with `.get()`. So a `np.` where `xp.`
was meant, or a host array left in a formula, fails here as it would on a card. Kernels in CUDA C run on the CPU too,
compiled by g++: cuda/cuda_on_cpu.h. Streams and the capture of graphs: fake_streams.py.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

import fake_streams
import numpy as np


def run(operation, *args, effect=False, **kwargs):
    """What every operation goes through: host arrays in, device arrays out."""
    return on_device(fake_streams.perform(operation, on_host(args), on_host(kwargs), effect))


class Ufunc:
    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __call__(self, *args, **kwargs):
        return run(self.ufunc, *args, **kwargs)

    def at(self, table, rows, updates):
        run(self.ufunc.at, table, rows, updates, effect=True)


class ndarray:
    __array_ufunc__ = None  # NumPy's operators refuse it

    def __init__(self, host):
        self._host = host

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self):
        fake_streams.forbid("get")
        return self._host.copy()

    def set(self, host):
        fake_streams.forbid("set")
        self._host[...] = host

    def __reduce__(self):
        return asarray, (self.get(),)

    @property
    def data(self):
        return SimpleNamespace(ptr=self._host.ctypes.data)

    def __getattr__(self, name):
        if name.startswith("__"):  # __array_interface__ would be a way out
            raise AttributeError(name)
        value = getattr(self._host, name)
        if callable(value):
            method = getattr(np.ndarray, name)
            return lambda *args, **kwargs: run(method, self, *args, effect=name == "fill", **kwargs)
        return on_device(value)

    def __getitem__(self, index):
        return run(np.ndarray.__getitem__, self, index)

    def __setitem__(self, index, value):
        run(np.ndarray.__setitem__, self, index, value, effect=True)

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        return (on_device(row) for row in self._host)

    def __float__(self):
        fake_streams.forbid("float()")
        return float(self._host)

    def __int__(self):
        fake_streams.forbid("int()")
        return int(self._host)

    def __bool__(self):
        fake_streams.forbid("bool()")
        return bool(self._host)


def _operator(name):
    def operator(self, *others):
        return run(getattr(np.ndarray, name), self, *others)

    return operator


def _in_place(name):
    def operator(self, other):
        run(getattr(np.ndarray, name), self, other, effect=True)
        return self

    return operator


BINARY = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "matmul", "pow")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "or", "and", "invert", "neg", "abs")
for _name in BINARY + COMPARISONS:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("iadd", "isub", "imul", "itruediv"):
    setattr(ndarray, f"__{_name}__", _in_place(f"__{_name}__"))
ndarray.__hash__ = None


def on_device(value):
    if isinstance(value, np.ndarray | np.generic):
        return ndarray(np.asarray(value))
    if isinstance(value, tuple):
        return tuple(on_device(part) for part in value)
    return value


def on_host(value):
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, tuple | list):
        return type(value)(on_host(part) for part in value)
    if isinstance(value, dict):
        return {key: on_host(part) for key, part in value.items()}
    return value


def asarray(value, dtype=None):
    """The one way in from the host."""
    if not isinstance(value, ndarray):
        fake_streams.forbid("asarray copies from the host")
        return ndarray(np.array(value, dtype=dtype))
    return value if dtype is None else run(np.asarray, value, dtype=dtype)


class RawModule:
    """Only what `kernels.gpu.launch` asks of CuPy's."""

    def __init__(self, *, code, options=()):
        if (here := str(Path(__file__).parent / "cuda")) not in sys.path:
            sys.path.append(here)
        from cpu_module import FLAGS, CpuModule

        definitions = tuple(option for option in options if option.startswith("-D"))
        self._module = CpuModule(code, (*FLAGS, *definitions))

    def get_function(self, name):
        return RawKernel(self._module.get_function(name))


class RawKernel:
    def __init__(self, kernel):
        self._kernel = kernel

    @property
    def max_dynamic_shared_size_bytes(self):
        return self._kernel.max_dynamic_shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value):
        self._kernel.max_dynamic_shared_size_bytes = value

    def __call__(self, grid, block, args, *, shared_mem=0):
        run(self._kernel, grid, block, args, shared_mem=shared_mem, effect=True)


class cuda:
    @staticmethod
    def is_available():
        return True

    class runtime:
        getDevice = staticmethod(lambda: fake_streams.Device.current)
        getDeviceCount = staticmethod(lambda: 4)
        getDeviceProperties = staticmethod(lambda device: {"name": b"pretended"})
        runtimeGetVersion = driverGetVersion = staticmethod(lambda: 0)

    Device, Event, MemoryPool, Stream = (
        fake_streams.Device, fake_streams.Event, fake_streams.MemoryPool, fake_streams.Stream
    )  # fmt: skip
    get_current_stream = staticmethod(fake_streams.current)
    using_allocator = staticmethod(fake_streams.using_allocator)
    get_elapsed_time = staticmethod(lambda start, end: 1000 * (end.time - start.time))

    class memory:
        OutOfMemoryError = MemoryError


def __getattr__(name):
    value = getattr(np, name)
    if isinstance(value, np.ufunc):
        return Ufunc(value)
    if isinstance(value, type) or not callable(value):
        return value
    return lambda *args, **kwargs: run(value, *args, **kwargs)


def get_default_memory_pool():
    return fake_streams.MemoryPool()
