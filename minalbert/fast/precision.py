"""Which engine serves which arrays, and with what numbers it multiplies.

    "full"      as exact as the weights are stored
    "bf16"      what is multiplied has 8 significant bits; sums, weights and statistics have 24
    "tf32"      on a GPU: 11 bits, inside the multiplication alone
    "float16"   on a GPU: 11 bits and a narrow range, so that gradients must be scaled (train.loss_scale)

On a GPU bf16 and float16 are also how activations are stored.
"""

import functools

import numpy as np

from ..backend import DeviceError
from ..config import ConfigError
from ..kernels import bf16, cpu, cpu_bf16, gpu
from .engine import Engine
from .plain import PlainEngine

CPU = {"full": cpu, "bf16": cpu_bf16}
GPU = {
    # name: (storage of activations, TF32)
    "full": ("float32", False),
    "tf32": ("float32", True),
    "bf16": ("uint16", False),
    "float16": ("float16", False),
}
FLOATS = (np.float32, np.float64)                    # what BLAS multiplies


def check_precision(precision, params):
    choices = CPU if params.device == "cpu" else GPU
    if precision not in choices:
        raise ConfigError(f"precision is {precision!r}; on {params.device!r} it must be one of: {', '.join(choices)}")
    if precision == "full":
        return
    if params.dtype != np.float32:
        raise ConfigError(f"precision {precision!r} needs float32 weights; these are {params.dtype}")
    if reason := bf16.bf16_missing() if params.device == "cpu" else gpu.missing():
        raise DeviceError(f"precision {precision!r} cannot be used: {reason}")


def engine_for(config, params, precision="full"):
    """With kernels where there are some for these arrays, else plain."""
    if params.device == "cpu" and params.dtype in FLOATS:
        return Engine(config, params, lambda workspace: CPU[precision], params.dtype)
    if params.device == "cuda" and params.dtype == np.float32 and gpu.serves(config) and not gpu.missing():
        storage, tf32 = GPU[precision]
        return Engine(config, params, functools.partial(gpu.Kernels, storage=storage, tf32=tf32), np.dtype(storage))
    return PlainEngine(config, params)
