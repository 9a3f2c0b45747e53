"""The product into which the layers' matrices go, and whose place a product of bf16 may take.

    out = a b        or, with add,        out = out + a b

a: (M, K)   b: (K, N)   out: (M, N); each may be a slice of wider rows, a and b also transposed: nothing is copied
"""

import numpy as np


def gemm(a, b, *, out, add=False):
    if add:
        out += a @ b
    else:
        np.matmul(a, b, out=out)


def cast(x, *, out):
    """out becomes x, rounded to its dtype."""
    out[...] = x
