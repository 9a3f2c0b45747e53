"""The one place where matrices are multiplied.

    out = a b        or, with add,        out = out + a b

a: (M, K)   b: (K, N)   out: (M, N); each may be a slice of wider rows, a and b also transposed: nothing is copied

NumPy can multiply but not add: a gradient of weights would be written out, read back, and added in a third pass
over all of them. BLAS adds while it writes. So where NumPy's own BLAS has the usual entry point, it is called
directly.
"""

import ctypes
import functools

import numpy as np

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
ENTRY_POINTS = [                                     # (name, its integers): of NumPy's wheels, then of others
    ("scipy_cblas_{}gemm64_", ctypes.c_int64),
    ("cblas_{}gemm64_", ctypes.c_int64),
    ("scipy_cblas_{}gemm", ctypes.c_int32),
]


def gemm(a, b, *, out, add=False):
    blas_gemm = _blas_gemm(out.dtype.char) if add and a.size and b.size else None
    if blas_gemm:
        blas_gemm(a, b, out)
    elif add:
        out += a @ b
    else:
        np.matmul(a, b, out=out)


def cast(x, *, out):
    """out becomes x, rounded to its dtype."""
    out[...] = x


@functools.cache
def _blas_gemm(dtype):
    """out += a b as one call, or None where BLAS is not found by name."""
    from threadpoolctl import ThreadpoolController

    real = {"f": ctypes.c_float, "d": ctypes.c_double}.get(dtype)
    letter = {"f": "s", "d": "d"}.get(dtype)
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        for name, integer in ENTRY_POINTS:
            function = getattr(library.dynlib, name.format(letter), None)
            if letter and "numpy" in library.filepath and function is not None:
                return functools.partial(_call, function, integer, real)
    return None


def _call(function, integer, real, a, b, out):
    (M, K), N = a.shape, b.shape[1]
    if len(b) != K or out.shape != (M, N) or not a.dtype == b.dtype == out.dtype:
        given = f"{a.dtype} {a.shape} and {b.dtype} {b.shape}"
        raise ValueError(f"a product of {given} does not fit {out.dtype} {out.shape}")
    a_order, a_stride = _layout(a)
    b_order, b_stride = _layout(b)
    out_order, out_stride = _layout(out)
    if out_order != PLAIN:
        raise ValueError(f"out has shape {out.shape} and strides {out.strides}: its rows must be dense")
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)]
    function(
        *map(ctypes.c_int, (ROW_MAJOR, a_order, b_order)), *map(integer, (M, N, K)),
        real(1.0), pointers[0], integer(a_stride), pointers[1], integer(b_stride),
        real(1.0), pointers[2], integer(out_stride),
    )  # fmt: skip


def _layout(x):
    """(order, stride of a row in elements) of a matrix whose rows, or whose columns, lie one after the other."""
    rows, columns = (stride // x.itemsize for stride in x.strides)
    if (columns == 1 or x.shape[1] == 1) and (rows >= x.shape[1] or x.shape[0] == 1):
        return PLAIN, max(rows, x.shape[1])
    if (rows == 1 or x.shape[0] == 1) and (columns >= x.shape[0] or x.shape[1] == 1):
        return TRANSPOSED, max(columns, x.shape[0])
    raise ValueError(f"a matrix of shape {x.shape} has strides {x.strides}: neither its rows nor its columns are dense")
