"""How many threads a benchmark may use: a limit on libraries, and on the workers that share a batch."""

import os

LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit(count):
    """Limit this process, and those it starts, to so many threads and cores. Call it before a library is imported.

    `Albert` has as many workers as its process may use cores. macOS and Windows limit no process's cores: there the
    libraries are limited, and the workers are not.
    """
    os.environ |= dict.fromkeys(LIBRARIES, str(count))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(count)])
