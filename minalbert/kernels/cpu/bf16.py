"""The matrix product with half the bits: each input rounded to bfloat16, every sum kept in float32.

    out = r(a) r(b)        or, with add,        out = out + r(a) r(b)

r(x) is the upper half of a float32: its sign, its exponent and 8 significant bits, rounded to the nearest, to the
even one of two that are equally near: |r(x) - x| ≤ 2⁻⁸ |x|. Numbers below 2⁻¹²⁶ count as zero.

a: (M, K)   b: (K, N)   out: (M, N)      float32; a and b may also be what `rounded` made of it: a weight that is
multiplied more than once is best rounded once. Each may be a transposed view or a slice of wider rows.

It pays where the processor multiplies bfloat16 (AVX512_BF16, AMX). NumPy does not reach those instructions, oneDNN
does: it is called directly, for the rounding too. A call uses as many threads as BLAS may use at the time, and any
number of threads may call at once.
"""

import contextlib
import ctypes
import functools

import numpy as np

from ...errors import DeviceError
from ..matrices import check_product, layout

WHEEL, FILE = "onednn-cpu-gomp", "libdnnl.so.3"
AVX512_BF16 = 0xE7                                   # as oneDNN 3 counts; the sets that contain it have its bits
CPU, IN_ORDER, BF16, F32, SOURCE, TARGET = 1, 1, 2, 3, 1, 17     # more of oneDNN's constants
HANDLE, SIZE = ctypes.c_void_p, ctypes.c_int64


class _Argument(ctypes.Structure):
    _fields_ = (("place", ctypes.c_int), ("memory", HANDLE))


def missing():
    """None where bf16 products can be computed, else one sentence why not."""
    try:
        _library()
    except DeviceError as error:
        return str(error)
    return None


def gemm(a, b, *, out, add=False):
    _check(a, b, out)
    library, (M, K), N = _library(), a.shape, b.shape[1]
    if 0 in (M, K, N):
        out[...] = out if add else 0
        return
    (a_order, a, a_stride), (b_order, b, b_stride) = _operand(a), _operand(b)
    library.omp_set_num_threads(min((blas.num_threads for blas in _blas()), default=1))
    _succeed("the product", library.dnnl_gemm_bf16bf16f32(
        a_order, b_order, M, N, K, 1.0, a.ctypes.data, a_stride, b.ctypes.data, b_stride,
        1.0 if add else 0.0, out.ctypes.data, layout(out)[1],
    ))  # fmt: skip


def cast(x, *, out):
    """out becomes r(x): vectors of float32 and of uint16."""
    rounded(x[None], out=out[None])


def rounded(x, *, out=None):
    """r(x) of a float32 matrix, for `gemm`: uint16, in x's shape and order; in `out`, where that is given."""
    if out is None:
        out = np.empty_like(x, np.uint16)
    if x.ndim != 2 or x.dtype != np.float32 or out.dtype != np.uint16 or out.shape != x.shape:
        raise TypeError(f"cannot round {x.dtype} of shape {x.shape} to {out.dtype} of shape {out.shape}")
    if x.size:
        _round(*((x.T, out.T) if layout(x)[0] else (x, out)))
    return out


def _check(a, b, out):
    check_product(a, b, out)
    if out.dtype != np.float32 or any(x.dtype not in (np.float32, np.uint16) for x in (a, b)):
        raise TypeError(f"a bf16 product takes and fills float32, not {a.dtype} and {b.dtype} to fill {out.dtype}")
    if out.size and not _fillable(out):
        raise ValueError(f"out has shape {out.shape} and strides {out.strides}: it must be writable and its rows dense")


def _fillable(out):
    try:
        return layout(out)[0] == 0 and out.flags.writeable
    except ValueError:
        return False


def _operand(x):
    """Its order and stride in memory, as oneDNN asks for them, and its numbers in bf16 between them."""
    transposed, stride = layout(x)
    rows = x.T if transposed else x
    if x.dtype == np.float32:
        rows, stride = _round(rows, np.empty(rows.shape, np.uint16)), rows.shape[1]
    return b"T" if transposed else b"N", rows, stride


def _round(rows, halves):
    """halves = r(rows), by the library's "reorder": one walk in one thread, where NumPy needs five."""
    library = _library()
    if not _fillable(halves):
        raise ValueError("out must be writable, and in memory as x is")
    library.omp_set_num_threads(1)
    with contextlib.ExitStack() as handles:
        make = functools.partial(_make, handles)
        stream, memories, descriptions = make("stream", "create", _engine(), IN_ORDER), [], []
        for x, dtype in ((rows, F32), (halves, BF16)):
            strides = (SIZE * 2)(layout(x)[1], 1)
            description = make("memory_desc", "create_with_strides", 2, (SIZE * 2)(*x.shape), dtype, strides)
            descriptions += [description, _engine()]
            memories.append(make("memory", "create", description, _engine(), HANDLE(x.ctypes.data)))
        reorder = make("primitive", "create", make("primitive_desc", "reorder", *descriptions, None))
        arguments = (_Argument * 2)(*zip((SOURCE, TARGET), memories, strict=True))
        _succeed("rounding", library.dnnl_primitive_execute(reorder, stream, 2, arguments))
        _succeed("rounding", library.dnnl_stream_wait(stream))
    return halves


def _make(handles, kind, how, *arguments):
    """An object of oneDNN that ends with `handles`."""
    handle, library = HANDLE(), _library()
    name = "dnnl_reorder_primitive_desc_create" if how == "reorder" else f"dnnl_{kind}_{how}"
    _succeed(name, library[name](ctypes.byref(handle), *arguments))
    handles.callback(library[f"dnnl_{kind}_destroy"], handle)
    return handle


def _succeed(what, status):
    if status:
        raise DeviceError(f"oneDNN did not do {what}: its status is {status}")


@functools.cache
def _blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


@functools.cache
def _engine():
    engine = HANDLE()
    _succeed("dnnl_engine_create", _library().dnnl_engine_create(ctypes.byref(engine), CPU, ctypes.c_size_t(0)))
    return engine


@functools.cache
def _library():
    from importlib import metadata

    try:
        files = metadata.files(WHEEL) or ()
    except metadata.PackageNotFoundError:
        files = ()
    path = next((file.locate() for file in files if file.name == FILE), None)
    if path is None:
        raise DeviceError("oneDNN is not installed (pip install 'minalbert[bf16]', for Linux on x86-64)")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise DeviceError(f"oneDNN cannot be loaded: {error} (GNU OpenMP is the system's package libgomp1)") from None
    if library.dnnl_get_effective_cpu_isa() & AVX512_BF16 != AVX512_BF16:
        raise DeviceError("this processor has no instructions for bf16, neither AVX512_BF16 nor AMX")
    library.dnnl_gemm_bf16bf16f32.argtypes = [
        ctypes.c_char, ctypes.c_char, SIZE, SIZE, SIZE, ctypes.c_float, HANDLE, SIZE, HANDLE, SIZE,
        ctypes.c_float, HANDLE, SIZE,
    ]  # fmt: skip
    return library
