"""The three kinds of numbers that kernels keep activations in, as NumPy arrays: bf16 as the uint16 of its bits."""

import numpy as np

NAMES = ("f32", "bf16", "f16")
DTYPES = {"f32": np.float32, "bf16": np.uint16, "f16": np.float16}
# Half a unit in the last place, of 24, 8 and 11 bits; for float32 the few roundings on the way to it as well.
TOLERANCE = {"f32": 1e-6, "bf16": 2**-8, "f16": 2**-11}
NAN = {"f32": np.nan, "bf16": 0xFFFF, "f16": np.nan}


def of_storage(x, name):
    """float32 -> the storage's numbers, to the nearest, ties to even."""
    if name != "bf16":
        return x.astype(DTYPES[name])
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def as_float64(x):
    if x.dtype == np.uint16:
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float64)


def unwritten(shape, name):
    """NaN, so that what a kernel forgets to write is seen."""
    return np.full(shape, NAN[name], DTYPES[name])
