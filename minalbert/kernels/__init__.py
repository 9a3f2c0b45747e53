"""The mathematics of `layers` once more, fused, over buffers that the caller owns: arrays in, arrays filled.

A layer is written to be read: every line of a formula is one array operation, and every result a fresh array.
Its time goes into memory: each line walks over all the data, and each fresh array has to be fetched from the
operating system first. A kernel computes the same in one walk. It takes a tile that fits the cache through all
lines of the formula before it goes on to the next, and writes into arrays that are there already.

    "becomes"    an argument that is overwritten:  gelu_backward's dy becomes du
    "adds"       a gradient of a parameter: what the kernel finds is added to what is there

Two families have the same names and arguments. `cpu` is NumPy; in `gpu` each name launches CUDA C from the `.cu`
file beside the NumPy twin. Both are tested against the layer they replace, which stays the specification.

Rows R are all tokens of a part of the batch, B·T of them. Read in this order: tiles, gelu, norm, gemm,
attention, cross_entropy, embedding; then the same for other means: compiled (by numba), bf16, and the .cu files.
"""

from .coins import Coins
