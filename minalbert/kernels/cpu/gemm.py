"""The product into which the layers' matrices go, and whose place a product of bf16 may take.

    out = a b        or, with add,        out = out + a b

a: (M, K)   b: (K, N)   out: (M, N); each may be a slice of wider rows, a and b also transposed: nothing is copied

NumPy multiplies, and then adds. So a large `out` is added to some rows at a time: the product needs less memory.
"""

import numpy as np

from .tiles import tiles

PRODUCT_BYTES = 2**21                                # some hundred rows of a layer's weights: enough for BLAS

def gemm(a, b, *, out, add=False):
    if add:
        for rows in tiles(out, nbytes=PRODUCT_BYTES):
            out[rows] += a[rows] @ b
    else:
        np.matmul(a, b, out=out)


def cast(x, *, out):
    """out becomes x, rounded to its dtype."""
    out[...] = x
