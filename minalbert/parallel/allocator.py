"""The C library's allocator, from which NumPy has its arrays.

glibc gives a large array's pages back to the operating system when the array is freed. The next array gets other pages,
which the system fills with zeros, one page fault each. The plain pairs make new arrays in every step, and at teaching
sizes a fifth of a step went there. So what is freed stays with the process, up to arrays of 32 MiB. All threads share
one arena: what one of them freed serves another, and glibc can give back what is free in it, but not in other arenas.
"""

import ctypes
import functools
import os
import platform

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # mallopt's names for its settings
LARGEST_ARRAY, MOST = 2**25, 2**30  # bytes; glibc takes no more than the first
SETTINGS = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"  # a user's own


@functools.cache
def glibc():
    """The library; None where the process has another."""
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


@functools.cache
def keep_freed_memory():
    """Let freed arrays stay with the process, unless the environment sets the allocator."""
    if glibc() and not any(name in os.environ for name in SETTINGS):
        glibc().mallopt(MMAP_THRESHOLD, LARGEST_ARRAY)
        glibc().mallopt(TRIM_THRESHOLD, MOST)
        glibc().mallopt(ARENA_MAX, 1)


def give_back_freed_memory():
    """To the operating system."""
    if glibc():
        glibc().malloc_trim(0)
