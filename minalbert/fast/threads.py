"""How many threads multiply matrices.

BLAS can share one product among threads, but nothing else that NumPy does. So where a batch can be cut, each part has
a thread of its own for everything, and BLAS is held to one thread in each.
"""

import contextlib
import functools

from threadpoolctl import ThreadpoolController


@functools.cache
def _blas():
    return ThreadpoolController().select(user_api="blas")


def blas_threads(count):
    """A context in which BLAS uses so many, or with None as many as it did."""
    return contextlib.nullcontext() if count is None else _blas().limit(limits=count)


def threads():
    """How many BLAS would use now; 1 where its threads cannot be told what to do."""
    return max((library.num_threads for library in _blas().lib_controllers), default=1)
