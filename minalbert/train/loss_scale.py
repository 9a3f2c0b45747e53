"""Gradients of float16, multiplied by a power of two that keeps them from vanishing.

float16 has 11 bits like TF32, but nothing between 0 and 6e-8, where gradients of ALBERT have many of their numbers.
So backward starts from `value` instead of 1, and the optimiser divides by it again; weights, their gradients and
moments are float32. The product must not leave float16 at the other end either, at 65504:

    a gradient that is not finite        no step with it, and half the factor
    2000 finite ones in a row            twice the factor

A loss that is not finite is another matter: no factor is to blame for that, nor where the factor has come down to 1.
With other precisions the factor is 1 and stays 1.
"""

import math

FIRST = 2.0**16
GOOD = 2000


class LossScale:
    def __init__(self, precision, memory=None):
        self.needed = precision == "float16"
        self.value, self.good = (memory or (FIRST, 0)) if self.needed else (1.0, 0)

    @property
    def memory(self):
        """All it goes by, for the checkpoint; None where there is nothing to remember."""
        return [self.value, self.good] if self.needed else None

    def overflowed(self, loss, norm):
        """Was this gradient too large for float16? Changes the factor, whatever the answer."""
        if not self.needed or not math.isfinite(loss):
            return False
        if not math.isfinite(norm) and self.value > 1.0:
            self.value, self.good = self.value / 2, 0
            return True
        self.good = self.good + 1 if math.isfinite(norm) else 0
        if self.good == GOOD:
            self.value, self.good = 2 * self.value, 0
        return False
