"""Which engine serves which arrays, with what numbers it multiplies, and who takes the steps.

    "full"      as exact as the weights are stored
    "bf16"      what the layers' matrices are multiplied with has 8 significant bits; sums, weights, statistics have 24
    "tf32"      on a GPU: 11 bits, inside the multiplication alone
    "float16"   on a GPU: 11 bits and a narrow range, so that gradients must be scaled (train.loss_scale)

On a GPU bf16 and float16 are also how activations are stored. On the CPU scores, context and the words' logits stay
in float32: too small, or too few, to gain.
"""

import functools
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError, DeviceError
from ..kernels import gpu, kernels_for
from ..kernels.cpu import bf16
from ..kernels.gpu.lamb import optimiser_for as twin
from .engine import Engine
from .plain import PlainEngine

CPU = ("full", "bf16")
GPU = {
    # name: (storage of activations, TF32)
    "full": ("float32", False),
    "tf32": ("float32", True),
    "bf16": ("uint16", False),
    "float16": ("float16", False),
}
BF16_WHEEL = bf16.WHEEL
KERNELS = ("numpy", "compiled")
FLOATS = (np.float32, np.float64)                    # what BLAS multiplies


class How(NamedTuple):
    """What a model computes with, beside its weights' own dtype and device."""

    precision: str = "full"                          # of matrix products
    kernels: str = "numpy"                           # or "compiled": the elementwise chains, by numba

    def check(self, params):
        """Raise one sentence where it cannot be had."""
        choices = CPU if params.device == "cpu" else GPU
        if self.precision not in choices:
            known = ", ".join(choices)
            raise ConfigError(f"precision is {self.precision!r}; on {params.device!r} it must be one of: {known}")
        if self.precision != "full":
            missing = bf16.missing if params.device == "cpu" else gpu.missing
            require_float32(f"precision {self.precision!r}", params, missing())
        if self.kernels not in KERNELS:
            raise ConfigError(f"kernels is {self.kernels!r}; it must be one of: {', '.join(KERNELS)}")
        if self.kernels == "compiled":
            if params.device != "cpu":
                raise ConfigError(f"kernels 'compiled' are for the CPU; the weights are on {params.device!r}")
            require_float32("kernels 'compiled'", params, numba_missing())


def require_float32(what, params, missing):
    if params.dtype != np.float32:
        raise ConfigError(f"{what} needs float32 weights; these are {params.dtype}")
    if missing:
        raise DeviceError(f"{what} cannot be used: {missing}")


def numba_missing():
    """None where it is installed, else one line saying so."""
    return None if find_spec("numba") else "numba is not installed (pip install 'minalbert[fast]')"


def cpu_kernels(how):
    return kernels_for("fused" if how.kernels == "numpy" else how.kernels, how.precision, "cpu")


def engine_for(config, params, how=How()):
    """With kernels where there are some for these arrays, else plain."""
    if params.device == "cpu" and params.dtype in FLOATS:
        return Engine(config, params, lambda: cpu_kernels(how), params.dtype)
    if params.device == "cuda" and params.dtype == np.float32 and gpu.serves(config) and not gpu.missing():
        storage, tf32 = GPU[how.precision]
        return Engine(config, params, functools.partial(gpu.Kernels, storage=storage, tf32=tf32), np.dtype(storage))
    return PlainEngine(config, params)


def optimiser_for(optimiser, params):
    """With kernels where there are some for these weights, else itself; `step` is the same."""
    on_gpu = params.device == "cuda" and params.dtype == np.float32 and gpu.missing() is None
    return twin(optimiser, params) if on_gpu else optimiser
