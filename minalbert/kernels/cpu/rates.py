"""How fast this machine multiplies, and whether fewer bits help: bf16 pays on some processors and not on others.

A processor can have instructions for bf16 and yet multiply float32 faster, and how oneDNN compares with NumPy's BLAS
differs from one to the next. So it is measured, once in a process, in a few milliseconds.
"""

import functools
import time

import numpy as np

from . import bf16

SIZE, TIMES = 384, 3
FASTER = 1.05                                        # a smaller difference is no reason to round


def product_rate(precision="full", size=SIZE, times=TIMES):
    """Operations per second of the fastest of a few square products, after one that is not counted.

    As in a layer, bf16 finds the weights rounded, and rounds the activations itself.
    """
    a, b, out = np.ones((3, size, size), np.float32)
    if precision == "bf16":
        b = bf16.rounded(b)
        taken = [seconds(lambda: bf16.gemm(a, b, out=out)) for _ in range(1 + times)]
    else:
        taken = [seconds(lambda: np.matmul(a, b, out=out)) for _ in range(1 + times)]
    return 2 * size**3 / min(taken[1:])


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@functools.cache
def bf16_is_slower():
    """None where bf16 products are faster than float32's on this machine, else one sentence."""
    half, full = product_rate("bf16"), product_rate("full")
    if half > FASTER * full:
        return None
    return (f"precision 'bf16' is no faster here: its products take {full / half:.1f} times as long as float32's "
            f"({1e-9 * half:.0f} against {1e-9 * full:.0f} GFLOP/s); precision 'full' is also more exact")  # fmt: skip
