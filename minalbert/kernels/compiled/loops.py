"""The way numba compiles loops, and the exponential that they share.

Signatures say f4 where the formula has an exponential, which is good for float32 and no more: other numbers are
refused. Loops with a signature are compiled when their file is first imported, the others when they are first called;
the machine code is kept in __pycache__ beside the file. All let other threads run.
"""

import contextlib
import math
from pathlib import Path

import numpy as np
from numba import njit

BLOCK = 64                                           # rows that are summed up by themselves; columns that stay in L1
CONTRACT = {"contract"}                              # a product added to in one rounding
IN_ANY_ORDER = {"contract", "reassoc", "nsz"}        # and a sum along the memory several at a time
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy"}

F = np.float32                                       # a float of Python would make float64 of all that it meets
ONE = F(1)
LOWEST, HIGHEST = F(-87), F(88)                      # in between exp is a normal number
LOG2_E, LN2 = F(1 / math.log(2)), math.log(2)
LN2_HIGH = F(round(LN2 * 2**9) / 2**9)               # of so few bits that n LN2_HIGH is exact
LN2_LOW = F(LN2 - round(LN2 * 2**9) / 2**9)
TO_INTEGER = F(1.5 * 2**23)                          # what is added to it loses its bits behind the point
EXPONENT, ONE_BITS = 23, 127 << 23                   # where a float32 has n of 2ⁿ, and the bits of 1.0
C2, C3, C4, C5, C6, C7 = (F(1 / math.factorial(k)) for k in range(2, 8))


def forget_older_code():
    """Numba compiles a loop again where the loop's own file has changed; here, where this one has, with its `exp`."""
    for index in Path(__file__).parent.glob("__pycache__/*.nbi"):
        with contextlib.suppress(OSError):           # the folder may be read-only, or another process is faster
            if index.stat().st_mtime < Path(__file__).stat().st_mtime:
                index.unlink()


forget_older_code()


def loops(*signature, fastmath=CONTRACT):
    return njit(*signature, fastmath=fastmath, **OPTIONS)


@njit("f4(f4)", fastmath=CONTRACT, forceinline=True, **OPTIONS)
def exp(x):
    """eˣ = 2ⁿ eʳ, x = n ln 2 + r, |r| ≤ ½ ln 2: Taylor's series, whose first term left out is r⁸/8! < 2⁻²⁷."""
    vanishes = x < LOWEST
    x = LOWEST if vanishes else HIGHEST if x > HIGHEST else x        # NaN is neither, and stays
    shifted = x * LOG2_E + TO_INTEGER                # its last bits are n
    n = shifted - TO_INTEGER
    r = x - n * LN2_HIGH - n * LN2_LOW
    series = ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * C7))))))
    power = np.int32((F(shifted).view(np.int32) << EXPONENT) + ONE_BITS).view(F)
    return F(0) if vanishes else series * power
