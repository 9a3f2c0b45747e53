"""The number of threads that multiply matrices.

BLAS can share one product among threads, but nothing else that NumPy does. So where a batch can be cut, each slice has
a thread of its own for everything, and BLAS is limited to one thread in each.
"""

import functools
import threading
from contextlib import contextmanager


@functools.cache
def blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """The number belongs to the whole process, and several may limit it at a time: the last to leave restores it."""

    def __init__(self):
        self.lock, self.users, self.limiter = threading.Lock(), 0, None

    def enter(self, count):
        with self.lock:
            limiter = blas().limit(limits=count)
            self.limiter = self.limiter or limiter
            self.users += 1

    def leave(self):
        with self.lock:
            self.users -= 1
            if not self.users:
                self.limiter.restore_original_limits()
                self.limiter = None


_limit = _Limit()


@contextmanager
def blas_threads(count):
    """Limit BLAS to so many threads; None leaves it as it is."""
    if count is None:
        yield
        return
    _limit.enter(count)
    try:
        yield
    finally:
        _limit.leave()


def threads():
    """The number of threads BLAS would use now; 1 where its threads cannot be controlled."""
    return max((library.num_threads for library in blas().lib_controllers), default=1)
