"""How many threads multiply matrices.

BLAS can share one product among threads, but nothing else that NumPy does. So where a batch can be cut, each part has
a thread of its own for everything, and BLAS is held to one thread in each.
"""

import functools
import threading
from contextlib import contextmanager


@functools.cache
def _blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Held:
    """The number is the whole process's, and several may hold it at a time: the last to leave puts back what was."""

    def __init__(self):
        self.lock, self.holders, self.limiter = threading.Lock(), 0, None

    def enter(self, count):
        with self.lock:
            limiter = _blas().limit(limits=count)
            self.limiter = self.limiter or limiter
            self.holders += 1

    def leave(self):
        with self.lock:
            self.holders -= 1
            if not self.holders:
                self.limiter.restore_original_limits()
                self.limiter = None


_held = _Held()


@contextmanager
def blas_threads(count):
    """A context in which BLAS uses so many, or with None as many as it did."""
    if count is None:
        yield
        return
    _held.enter(count)
    try:
        yield
    finally:
        _held.leave()


def threads():
    """How many BLAS would use now; 1 where its threads cannot be told what to do."""
    return max((library.num_threads for library in _blas().lib_controllers), default=1)
