"""How a model computes: by which kernels, in which precision.

    kernels     "plain"     the pairs of `model`, made of `layers`: the files one reads
                "fused"     the pairs of `fused`, made of NumPy kernels; on a GPU, of CUDA kernels
                "compiled"  the same, with loops compiled by numba; on the CPU
    precision   "full"      as exact as the weights are stored
                "bf16"      what matrices are multiplied with has 8 significant bits; sums, weights, statistics have 24
                "tf32"      on a GPU: 11 bits, in the multiplication alone
                "float16"   on a GPU: 11 bits and a narrow range, so that gradients must be scaled (train.gradient_step)
"""

import functools
import warnings
from typing import NamedTuple

from .errors import ConfigError, DeviceError, SlowWarning
from .fused import fused_pairs
from .kernels import PRECISIONS, gpu, missing
from .kernels.cpu import rates
from .model import PLAIN

KERNELS = ("plain", "fused", "compiled")


class Compute(NamedTuple):
    kernels: str = "plain"
    precision: str = "full"

    def pairs(self):
        return PLAIN if self.kernels == "plain" else fused_pairs(self.kernels, self.precision)

    def check(self, config, params):
        """Raise one sentence if these weights cannot be computed with in this way."""
        if self.kernels not in KERNELS:
            raise ConfigError(f"kernels is {self.kernels!r}; it must be one of: {', '.join(KERNELS)}")
        if self.precision not in PRECISIONS[params.device]:
            known = ", ".join(PRECISIONS[params.device])
            raise ConfigError(f"precision is {self.precision!r}; on {params.device!r} it must be one of: {known}")
        if self.kernels == "plain":
            if self.precision != "full":
                raise ConfigError(f"precision {self.precision!r} needs kernels 'fused' or 'compiled'; plain ones "
                                  "compute in full")  # fmt: skip
            return
        if config.reversible:
            raise ConfigError(f"kernels {self.kernels!r} have no reversible layers, which this config asks for; they "
                              "need kernels 'plain'")  # fmt: skip
        if self.kernels == "compiled" and params.device != "cpu":
            raise ConfigError(f"kernels 'compiled' are for the CPU; the weights are on {params.device!r}")
        what = f"kernels {self.kernels!r}" if self.precision == "full" else f"precision {self.precision!r}"
        exact = (self.kernels, self.precision, params.device) == ("fused", "full", "cpu")
        if params.dtype not in (("float32", "float64") if exact else ("float32",)):
            raise ConfigError(f"{what} needs float32{' or float64' * exact} weights; these are {params.dtype}")
        if params.device == "cuda" and config.attention != "full":
            raise ConfigError(f"attention {config.attention!r} has no CUDA kernels; on a GPU it needs kernels 'plain'")
        if params.device == "cuda" and not gpu.serves(config):
            raise ConfigError(f"kernels 'fused' on a GPU take rows of {gpu.WIDEST} numbers and heads of "
                              f"{gpu.LARGEST_HEAD}, no wider; this model needs kernels 'plain'")  # fmt: skip
        if reason := missing(self.kernels, self.precision, params.device):
            raise DeviceError(f"{what} cannot be used: {reason}")
        if (self.precision, params.device) == ("bf16", "cpu"):
            warn_where_bf16_is_slower()


@functools.cache
def warn_where_bf16_is_slower():                     # once in a process
    if sentence := rates.bf16_is_slower():
        warnings.warn(sentence, SlowWarning, stacklevel=4)                   # where Albert was called
