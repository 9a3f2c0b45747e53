"""The mathematics of `layers` once more, fused, over buffers that the caller owns: arrays in, arrays filled.

A layer is written to be read: every line of a formula is one array operation, and every result a fresh array.
Its time goes into memory: each line walks over all the data, and each fresh array has to be fetched from the
operating system first. A kernel computes the same in one walk. It takes a tile that fits the cache through all
lines of the formula before it goes on to the next, and writes into arrays that are there already.

    "becomes"    an argument that is overwritten:  gelu_backward's dy becomes du
    "adds"       a gradient of a parameter: what the kernel computes is added to what is there

Every output is a keyword. Four implementations have the names and arguments of `implementation`:

    cpu              NumPy, a tile at a time
    compiled         the CPU's matrix products, and numba's loops for what lies between them
    cpu/bf16         either of these two, with the layers' matrix products in bf16, by oneDNN
    gpu              CUDA C: the .cu files, launched by the Python files beside them

All are tested against the layers, which stay the specification. The CPU's take float32 and float64, the compiled and
the bf16 ones float32; the GPU's keep activations in float32, float16 or bf16, and weights in float32.

Rows R are all tokens of a slice of the batch, B·T of them. Read in this order: cpu/tiles, gelu, norm, gemm,
attention, sparse_attention, cross_entropy, embedding; then the files of the same names in compiled/ and gpu/.
"""

from importlib.util import find_spec

from . import cpu
from .dropout import Dropout

PRECISIONS = {
    # on the CPU and on a GPU, how exact matrix products are
    "cpu": ("full", "bf16"),
    "cuda": ("full", "tf32", "bf16", "float16"),
}


def kernels_for(kernels, precision, device):
    """The implementation for "fused" or "compiled" kernels; on a GPU a new one, with scratch memory of its own.

    precision, of the layers' matrix products: "full", as exact as the weights are stored; "bf16", of 8 significant
    bits; "tf32", of 11 bits; "float16", of 11 bits and a narrow range. On a GPU bf16 and float16 are also how
    activations are stored.
    """
    if device == "cuda":
        from . import gpu

        return gpu.Kernels(*gpu.STORAGE_AND_TF32[precision])
    if kernels == "fused":
        return cpu.BF16_KERNELS if precision == "bf16" else cpu.KERNELS
    from . import compiled  # which compiles, if it has not yet

    return compiled.BF16_KERNELS if precision == "bf16" else compiled.KERNELS


def fastest(device):
    """The name of the fastest kernels for float32 on this machine."""
    return "fused" if missing("compiled", "full", device) else "compiled"


def missing(kernels, precision, device):
    """None where such kernels can be used on this machine, else one sentence why not."""
    if device == "cuda":
        if kernels == "compiled":
            return "compiled kernels are for the CPU"
        from . import gpu

        return gpu.missing()
    if kernels == "compiled" and find_spec("numba") is None:
        return "numba is not installed (pip install 'minalbert[fast]')"
    return cpu.bf16.missing() if precision == "bf16" else None
