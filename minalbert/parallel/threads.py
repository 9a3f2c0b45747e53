"""The number of threads that multiply matrices.

BLAS can share one product among threads, but nothing else that NumPy does. Its threads wait for each other by spinning:
on a machine that is busy with something else, each product waits for the thread that has no core. And the last bits of
a product depend on how many threads share it. So each slice of a batch has a thread of its own for everything, and BLAS
has one thread in each. The price: one text is one slice, and one core computes it.

The limit is set in the thread that multiplies. For most libraries the number is the whole process's; for one that
shares its work by OpenMP it is each thread's own.
"""

import functools
import os
import threading
from collections import Counter
from contextlib import contextmanager


@functools.cache
def blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """Several threads may limit BLAS at a time: the last to leave restores the process's number."""

    def __init__(self):
        self.lock, self.users, self.original = threading.Lock(), Counter(), []

    def enter(self, count):
        """Returns the numbers before."""
        with self.lock:
            before = [library.num_threads for library in blas().lib_controllers]
            if not self.users:
                self.original = before
            self.users[threading.get_ident()] += 1
            for library in blas().lib_controllers:
                set_threads(library, count)
        return before

    def leave(self, before):
        with self.lock:
            self.users -= Counter([threading.get_ident()])           # a thread that has left is in it no more
            for library, own, original in zip(blas().lib_controllers, before, self.original, strict=True):
                if is_each_threads(library):
                    set_threads(library, own)
                elif not self.users:
                    set_threads(library, original)

    def forked(self):
        """Only the thread that forked is in the new process; another may have held the lock, or limited BLAS."""
        mine, others = threading.get_ident(), len(self.users)
        self.lock, self.users = threading.Lock(), Counter({mine: self.users[mine]} if mine in self.users else ())
        if others and not self.users:
            for library, original in zip(blas().lib_controllers, self.original, strict=True):
                set_threads(library, original)


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.forked)


def is_each_threads(library):
    """Is its number each thread's own?"""
    return library.internal_api == "openblas" and library.threading_layer == "openmp"


def set_threads(library, count):
    """threadpoolctl lets one Python thread alone change OpenBLAS's number as long as it lives; any of ours may."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@contextmanager
def blas_threads(count):
    """Limit BLAS to so many threads, in this thread at least."""
    before = _limit.enter(count)
    try:
        yield
    finally:
        _limit.leave(before)


def threads():
    """The number of threads BLAS would use now; 1 where its threads cannot be controlled."""
    return max((library.num_threads for library in blas().lib_controllers), default=1)
