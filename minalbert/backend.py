"""NumPy or CuPy: everything in which the two array libraries differ, but for launching kernels (`kernels.gpu`).

A function asks `array_module(x)` for the library its argument belongs to and goes on in plain array
arithmetic. Both libraries live in one process, and CuPy is imported only when something is put on a GPU.
"""

import math
import operator
import sys
from typing import NamedTuple

import numpy as np

from .errors import DeviceError


def array_module(x):
    if isinstance(x, np.ndarray | np.generic):
        return np
    if isinstance(x, int | float | complex | list | tuple | str | None):
        raise TypeError(f"expected a NumPy or CuPy array, not {x!r}, a {type(x).__name__}")
    return sys.modules["cupy"]


def cuda_missing():
    """None where a GPU can be used, else one line saying why not."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install 'minalbert[gpu]')"
    if not cupy.cuda.is_available():
        return "CuPy finds no CUDA device"
    return None


def to_device(x, device):
    """An array on "cpu" or "cuda": itself, not a copy, if it is there already."""
    check_device(device)
    if device == "cpu":
        return to_host(x)
    import cupy

    return cupy.asarray(x)


def check_device(device):
    if device not in ("cpu", "cuda"):
        raise DeviceError(f"device {device!r} is unknown: use 'cpu' or 'cuda'")
    if device == "cuda" and (reason := cuda_missing()):
        raise DeviceError(f"device 'cuda' cannot be used: {reason}")


def to_host(x):
    return x if isinstance(x, np.ndarray) else x.get() if hasattr(x, "get") else np.asarray(x)


def device_of(x):
    return "cpu" if array_module(x) is np else "cuda"


def take_card(number):
    """Compute on a GPU from now on, in this thread: number 0, 1, ... of those in sight, and again from the first.

    Returns its PCI address, which no other GPU of this machine has (the parts of one, by MIG, have the same).
    """
    import cupy

    card = cupy.cuda.Device(number % cupy.cuda.runtime.getDeviceCount())
    card.use()
    return card.pci_bus_id


def nccl():
    """The module by which CuPy copies between GPUs of several processes; None if its library is missing."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if nccl.available else None


def gpu_circumstances(device):
    """{name: words}: what a result may depend on besides the program; nothing on the CPU."""
    check_device(device)
    if device == "cpu":
        return {}
    import cupy

    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
    cuda = f"{runtime.runtimeGetVersion()}, driver {runtime.driverGetVersion()}"
    return {"CuPy": cupy.__version__, "GPU": name, "CUDA": cuda}


def at_least_float32(x):
    """x itself, or a float32 copy of half precision, for sums that float16 cannot hold."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def lowest(dtype):
    """Half of the lowest number of a dtype: added to a score, it masks it. (The released code adds -10000.)

    Scores in float16 may lie further apart than that; there it is -∞.
    """
    return -math.inf if np.dtype(dtype) == np.float16 else float(np.finfo(dtype).min) / 2


def scatter_add(shape, rows, updates):
    """Zeros of `shape`, plus each update added to the row it names; a row named twice gets both sums."""
    table = array_module(updates).zeros(shape, updates.dtype)
    add_rows(updates, rows, out=table)
    return table


def add_rows(updates, rows, *, out):
    """out[rows] adds updates; a row named twice gets both. rows: (...)   updates: (..., C)   out: (R, C), dense

    NumPy adds in the order given, number by number: with the same bits, it takes five times as long to add whole rows.
    A GPU adds in any order, so its last bits may differ between runs.
    """
    if not out.flags.c_contiguous:
        raise ValueError(f"out has strides {out.strides}: its rows must follow one another in memory")
    xp, width = array_module(updates), math.prod(out.shape[1:])
    places = xp.multiply(rows, width, dtype="int64")[..., None] + xp.arange(width)
    xp.add.at(out.reshape(-1), places.ravel(), updates.ravel())


class DropoutKey(NamedTuple):
    """Which dropout mask: of which run, step, layer, and site in the layer.

    `example` is the number of this batch's first example in the whole batch, where a batch is cut. Slices that begin
    with different examples share no random number, whatever their lengths.
    """

    seed: int
    step: int = 0
    layer: int = 0
    site: int = 0
    example: int = 0
    tile: int = 0                                    # of sparse attention
    share: int = 0                                   # of each example's numbers, where ranks share a model's heads
    shares: int = 1                                  # so many equal ones

    def at(self, **place):
        return self._replace(**place)


def dropout_threshold(rate):
    """(threshold, scale): 16 random bits below the threshold drop a number; scale is 1 / P(keep), exactly."""
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"dropout rate is {rate}; it must be at least 0 and less than 1")
    threshold = min(round(rate * 65536), 65535)
    return threshold, 65536 / (65536 - threshold)


def dropout_mask(x, rate, key, first=0):
    """The mask for x: (B, ...), True where a number is kept, and the scale 1 / P(keep).

    Sixteen random bits decide each number, so P(keep) is a multiple of 2⁻¹⁶. They are words of Philox4x64-10
    (Salmon et al., 2011), NumPy's own: its key is (seed, step), its counter (block, example, layer, site). The slice
    of a batch that begins with this example counts its blocks of 16 numbers from 0; each of its examples owns as many
    as it needs. x may be a part of the slice, from example `first` on, and a share of each example's numbers.
    """
    threshold, scale = dropout_threshold(rate)
    if not all(0 <= operator.index(number) < 2**64 for number in key):
        raise ValueError(f"{key}: each number must be from 0 to 2⁶⁴ - 1")
    batch, per_example = len(x), x[0].size
    blocks = -(-per_example * key.shares // 16)
    if key.shares == 1:
        words, before = random_blocks(key, first * blocks, batch * blocks), 0
    else:
        begin, before = divmod(key.share * per_example, 16)
        count = -(-(before + per_example) // 16)
        words = np.stack([random_blocks(key, (first + i) * blocks + begin, count) for i in range(batch)])
    bits = words.view(np.uint16).reshape(batch, -1)[:, before : before + per_example]
    mask = (bits >= threshold).reshape(x.shape)
    return array_module(x).asarray(mask), scale


def random_blocks(key, first, count):
    """So many blocks, from this one on, of four words of 64 bits each."""
    philox = np.random.Philox(
        key=np.array([key.seed, key.step], np.uint64),
        counter=np.array([first, key.example, key.layer, key.site + (key.tile << 32)], np.uint64),
    )
    return philox.random_raw(count * 4)
