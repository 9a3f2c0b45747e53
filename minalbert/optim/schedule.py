"""The learning rate, step by step.

    linear, as ALBERT's code has it      rate = peak step / warmup              while step < warmup
                                         rate = peak (1 - step / steps)         from then on
    cosine                               rate = peak (step + 1) / (warmup + 1)  while step < warmup
                                         rate = peak ½ (1 + cos πx)             x = (step - warmup) / (steps - warmup)
    constant                             as cosine, without the decay

`step` counts the updates done so far, from 0. In ALBERT's form the first update therefore has rate 0. The decay counts
from step 0, not from the end of the warm-up, so that the peak is never reached: after 3,125 of 125,000 steps, the rate
is 0.0017160 of 0.00176.

By time (Izsak et al., 2021, 24hBERT): `time_fraction` is the fraction of the time that is used up. The rate is that of
step time_fraction × steps.
"""

import math
from dataclasses import dataclass

from ..arguments import number, one_of, whole
from ..errors import ConfigError, named_fields

SHAPES = ("linear", "cosine", "constant")
REFERENCE_BATCH, REFERENCE_RATE = 4096, 5 / (2**1.5 * 1000)     # 0.00176777; You et al., 2020, table 4


@named_fields(ConfigError)
@dataclass(frozen=True)
class Schedule:
    """The learning rate of a run, step by step.

    peak     the highest rate
    steps    updates in the run
    warmup   updates of the rise
    shape    "linear", "cosine" or "constant"
    """

    peak: float
    steps: int
    warmup: int = 0
    shape: str = "linear"

    def __post_init__(self):
        number("peak", self.peak, least=0, error=ConfigError)
        for name, least in (("steps", 1), ("warmup", 0)):
            whole(name, getattr(self, name), least, error=ConfigError)
        if self.warmup > self.steps:
            raise ConfigError(f"warmup is {self.warmup}; it must be at most the {self.steps} steps of the run")
        one_of("shape", self.shape, SHAPES, ConfigError)

    def rate(self, step, time_fraction=None):
        """The learning rate after `step` updates, or after `time_fraction` of the time."""
        step = number("step", step, least=0)
        if time_fraction is not None:
            step = number("time_fraction", time_fraction, least=0) * self.steps
        if self.shape == "linear" and step < self.warmup:
            return self.peak * step / self.warmup
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        if self.shape == "constant":
            return self.peak
        if step >= self.steps:
            return 0.0
        if self.shape == "linear":
            return self.peak * (1 - step / self.steps)
        return self.peak * 0.5 * (1 + math.cos(math.pi * (step - self.warmup) / (self.steps - self.warmup)))


def sqrt_rule(batch, reference_batch=REFERENCE_BATCH, reference_rate=REFERENCE_RATE):
    """LAMB's peak rate for another batch size and the same epochs: rate ∝ √batch, with the same warm-up steps."""
    batch, reference_batch = whole("batch", batch, 1), whole("reference_batch", reference_batch, 1)
    reference_rate = number("reference_rate", reference_rate, least=0)
    return reference_rate * math.sqrt(batch / reference_batch)


def rate_warning(rate, batch):
    """A sentence if LAMB's rate fits batches more than four times as large, else None."""
    rate, fitting = number("rate", rate, least=0), sqrt_rule(batch)
    if not rate > 2 * fitting:
        return None
    meant_for = 2 ** round(math.log2(batch * (rate / fitting) ** 2))
    return (
        f"a learning rate of {rate:.3g} suits batches of {meant_for}; for batches of {batch} the √batch rule gives "
        f"{fitting:.2g}. If the rate is too high, the loss jumps and then stays on a plateau"
    )
