"""How much memory and how many cores there are. A size is judged by the memory that it would take, before it is made.

    check_memory("the weights of this model", 4 * 10**13)       ... need 40 TB of memory; this machine has 24.5 GB
"""

import functools
import os
from pathlib import Path

from .errors import ConfigError

CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
UNKNOWN = 2**40                                      # bytes, if the system does not say; few machines have more
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


@functools.cache
def machine_bytes():
    """The memory of this machine, or what its container may use of it."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):    # Windows
        found = [UNKNOWN]
    for name in CONTAINERS:
        try:
            found.append(int(Path(name).read_text()))
        except (OSError, ValueError):                # no such file, or "max"
            continue
    return min(found)


def check_memory(what, needed, error=ConfigError):
    """Raise one sentence if `what`, a plural, needs more bytes than the machine has."""
    if needed > machine_bytes():
        raise error(f"{what} need {in_words(needed)} of memory; this machine has {in_words(machine_bytes())}")


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_words(size):
    """A number of bytes as 40 TB, 24.5 GB."""
    power = 0
    while size >= 1000 and power < len(UNITS) - 1:
        size, power = size / 1000, power + 1
    return f"{size:.3g} {UNITS[power]}"
