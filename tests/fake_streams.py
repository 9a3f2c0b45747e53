"""Streams, graphs, events and memory pools of the pretended GPU.

Streams take turns at once: what is asked for is done before the call returns. While one is captured, what changes
memory is written down and not done, as on a GPU, and what gives a new array is done for its shape; at the end of the
capture such arrays are NaN. Launching the graph does it all, in the memory that it was captured with.

As strict as CuPy and CUDA: what waits for the GPU, copies from the host or calls cuBLAS by way of CuPy is an error
while capturing. Stricter: so is memory from the pool that all share, which would be given to others under the graph.
"""

import contextlib
import time
import weakref

import numpy as np

CUBLAS = {"matmul", "rmatmul", "dot", "vdot", "inner", "tensordot", "einsum"}
WAITS = {"nonzero", "flatnonzero", "argwhere", "unique", "item", "tolist", "compress", "extract"}
FROM_HOST = {"array", "asanyarray", "ascontiguousarray"}

_current, _capture, _pools = [], None, []  # the last is in use


class Capture:
    def __init__(self, stream):
        self.stream, self.done = stream, []


def forbid(what, error=RuntimeError):
    if _capture:
        raise error(f"{what}: operation not permitted when stream is capturing")


@np.errstate(all="ignore")  # a GPU does not warn of infinities
def perform(operation, args, kwargs, effect):
    """`effect`: it changes memory and gives nothing. The result, of which the caller makes device arrays."""
    name = getattr(operation, "__name__", "").strip("_")
    if name in CUBLAS:
        forbid("cuBLAS through CuPy", NotImplementedError)
    indices = _arrays_in(args[1]) if name in ("getitem", "setitem") else []
    if name in WAITS or any(index.dtype == bool for index in indices):
        forbid(f"{name} waits for a number of the GPU's")
    if name in FROM_HOST and not isinstance(args[0], np.ndarray):
        forbid(f"{name} copies from the host")
    if indices and name == "setitem" and not isinstance(args[2], np.ndarray):
        forbid("a number put where indices say copies it from the host")
    if _capture is None or current() is not _capture.stream:
        return _arrays(operation(*args, **kwargs))
    if effect:
        _capture.done.append((operation, args, kwargs, None))
        return None
    result = _arrays(operation(*args, **kwargs))
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, np.ndarray)]
    fresh = [x for x in _each(result) if not any(np.may_share_memory(x, old) for old in given)]
    if fresh and not _pools:
        raise RuntimeError(f"{name} takes memory from the pool that all share, under a graph")
    _capture.done.append((operation, args, kwargs, result))
    return result


def _arrays_in(index):
    return [x for x in (index if isinstance(index, tuple) else (index,)) if isinstance(x, np.ndarray)]


def _arrays(result):
    if isinstance(result, tuple):
        return tuple(map(_arrays, result))
    return np.asarray(result) if isinstance(result, np.generic) else result


def _each(result):
    return [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, np.ndarray)]


class Graph:
    def __init__(self, done, pool):
        self._done, self._pool = done, pool and weakref.ref(pool)
        for *_, result in done:
            for x in _each(result):
                if x.base is None and x.dtype.kind == "f":
                    x.fill(np.nan)

    @np.errstate(all="ignore")
    def launch(self, stream=None):
        if self._pool and self._pool() is None:
            raise RuntimeError("the graph's memory pool is gone, and its memory with it")
        for operation, args, kwargs, result in self._done:
            again = _arrays(operation(*args, **kwargs))
            for old, new in zip(_each(result), _each(again), strict=True) if result is not None else ():
                if not np.may_share_memory(old, new):
                    old[...] = new


class Event:
    def __init__(self, *_, **__):
        self.time = None

    def record(self, stream=None):
        self.time = time.perf_counter()

    def synchronize(self):
        forbid("synchronize")


class Stream:
    def __init__(self, null=False, non_blocking=False):
        self.ptr = 0 if null else id(self)

    def __enter__(self):
        _current.append(self)
        return self

    def __exit__(self, *_):
        assert _current.pop() is self

    def synchronize(self):
        forbid("synchronize")

    def begin_capture(self, mode=None):
        global _capture
        if not self.ptr or _capture:
            raise RuntimeError("this stream cannot be captured")
        _capture = Capture(self)

    def end_capture(self):
        global _capture
        if _capture is None or _capture.stream is not self:
            raise RuntimeError("this stream is not being captured")
        done, _capture = _capture.done, None
        return Graph(done, _pools[-1] if _pools else None)


NULL = Stream(null=True)


def current():
    return _current[-1] if _current else NULL


class MemoryPool:
    def malloc(self, size):
        raise NotImplementedError

    def total_bytes(self):
        return 0

    def free_all_blocks(self):
        pass


@contextlib.contextmanager
def using_allocator(allocator=None):
    _pools.append(allocator.__self__)
    try:
        yield
    finally:
        _pools.pop()


class Device:
    current = 0

    def __init__(self, device=0):
        self.id, self.mem_info, self.pci_bus_id = device, (2**30, 2**31), f"0000:0{device}:00.0"

    def use(self):
        Device.current = self.id

    def synchronize(self):
        forbid("synchronize")
