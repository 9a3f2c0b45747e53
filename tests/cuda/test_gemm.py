"""kernels.gpu.gemm: its arguments, and its call of a library that checks them and computes by columns.

The pretended library is made of C functions with the prototypes of cublas_api.h, so what arrives in it has gone
through the same conversions as on the way to cuBLAS.
"""

import ctypes
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from storage import TOLERANCE, as_float64, of_storage

from minalbert.errors import DeviceError
from minalbert.kernels.gpu.gemm import COMPUTE_32F, COMPUTE_TF32, TYPES, Gemm, find_library, layout, layouts

NAMES = {0: "f32", 2: "f16", 14: "bf16"}
INT, FLOAT, POINTER = ctypes.c_int, ctypes.POINTER(ctypes.c_float), ctypes.c_void_p
HANDLE, STREAM = 0x123456789A, 0xABCDEF0123  # wider than an int
INVALID_VALUE = 7


class OnDevice:
    """What Gemm looks at in an array of CuPy."""

    def __init__(self, host):
        self.host, self.data = host, SimpleNamespace(ptr=host.ctypes.data)
        for name in ("shape", "ndim", "strides", "dtype", "itemsize", "nbytes"):
            setattr(self, name, getattr(host, name))

    @property
    def T(self):
        return OnDevice(self.host.T)


class Library:
    """cuBLAS, as far as we use it."""

    def __init__(self):
        self.stream = self.workspace = None
        self.mode, self.status, self.products = 0, 0, []
        self.cublasCreate_v2 = function(self.create, ctypes.POINTER(POINTER))
        self.cublasDestroy_v2 = function(self.destroy, POINTER)
        self.cublasSetStream_v2 = function(self.set_stream, POINTER, POINTER)
        self.cublasSetWorkspace_v2 = function(self.set_workspace, POINTER, POINTER, ctypes.c_size_t)
        self.cublasSetMathMode = function(self.set_mode, POINTER, INT)
        operand = POINTER, INT, INT
        self.cublasGemmEx = function(
            self.gemm, POINTER, *(INT,) * 5, FLOAT, *operand, *operand, FLOAT, *operand, INT, INT
        )

    def create(self, handle):
        handle[0] = HANDLE
        return 0

    def destroy(self, handle):
        self.destroyed = handle
        return 0

    def set_stream(self, handle, stream):
        self.stream, self.workspace = stream, None
        return 0 if handle == HANDLE else INVALID_VALUE

    def set_workspace(self, handle, pointer, size):
        self.workspace = pointer, size
        return 0 if handle == HANDLE else INVALID_VALUE

    def set_mode(self, handle, mode):
        self.mode = mode
        return 0 if handle == HANDLE else INVALID_VALUE

    def gemm(self, handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, how, algo):
        good = handle == HANDLE and self.stream and self.workspace and algo == -1 and how in (68, 77)
        good = good and lda >= max(1, k if op_a else m) and ldb >= max(1, n if op_b else k) and ldc >= max(1, m)
        if not good or self.status:
            return self.status or INVALID_VALUE
        self.products.append((how, a_type, c_type))
        first = by_columns(a, a_type, lda, *((k, m) if op_a else (m, k)))
        second = by_columns(b, b_type, ldb, *((n, k) if op_b else (k, n)))
        out = by_columns(c, c_type, ldc, m, n)
        product = alpha[0] * as_float64(first.T if op_a else first) @ as_float64(second.T if op_b else second)
        if beta[0]:
            product += beta[0] * as_float64(out)
        out[...] = of_storage(product.astype(np.float32), NAMES[c_type])
        return 0


def function(python, *types):
    return ctypes.CFUNCTYPE(INT, *types)(python)


def by_columns(pointer, type, stride, rows, columns):
    """The memory of a matrix by columns, as an array."""
    if not rows * columns:
        return np.zeros((rows, columns), np.float32)
    dtype = {0: np.float32, 2: np.float16, 14: np.uint16}[type]
    size = (columns - 1) * stride + rows
    memory = (ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(pointer)
    flat = np.frombuffer(memory, dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (flat.itemsize, stride * flat.itemsize))


def matrix(rng, name, rows, columns, form):
    """Random numbers that lie in memory as `form` says; what is around them is NaN."""
    if form == "transposed":
        return matrix(rng, name, columns, rows, "plain").T
    if form == "transposed slice":
        return matrix(rng, name, columns, rows, "slice").T
    before, behind = (0, 0) if form == "plain" else (3, 2)
    wide = np.full((rows, before + columns + behind), np.nan, np.float32)
    wide[:, before : before + columns] = rng.standard_normal((rows, columns))
    return of_storage(wide, name)[:, before : before + columns]


def product(library=None, **options):
    library = library or Library()
    gemm = Gemm(OnDevice(np.zeros(1024, np.uint8)), lambda: STREAM, library=library, **options)
    return lambda a, b, *, out, **add: gemm(OnDevice(a), OnDevice(b), out=OnDevice(out), **add)


FORMS = ("plain", "slice", "transposed", "transposed slice")
SHAPES = [(6, 7, 4), (1, 5, 3), (5, 1, 3), (5, 3, 1), (1, 1, 1), (1, 4, 1)]


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("storage", [("f32", "f32"), ("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("f16", "f32")])
def test_every_way_to_lie_in_memory(storage, shape, add):
    (name, out_name), (M, N, K) = storage, shape
    rng, gemm = np.random.default_rng(0), product()
    for a_form, b_form, out_form in itertools.product(FORMS, FORMS, FORMS[:2]):
        a, b = matrix(rng, name, M, K, a_form), matrix(rng, name, K, N, b_form)
        out = matrix(rng, out_name, M, N, out_form)
        around = out.base if out_form == "slice" else out
        untouched = np.isnan(as_float64(around)).sum()
        expected = as_float64(a) @ as_float64(b) + (as_float64(out) if add else 0)
        if not add:
            out[...] = of_storage(np.full((M, N), np.nan, np.float32), out_name)
        gemm(a, b, out=out, add=add)
        # computed in float64 and rounded once
        np.testing.assert_allclose(as_float64(out), expected, rtol=TOLERANCE[out_name], atol=1e-7)
        assert np.isnan(as_float64(around)).sum() == untouched


def test_arithmetic_and_types():
    library = Library()
    x = {name: of_storage(np.ones((2, 2), np.float32), name) for name in ("f32", "bf16", "f16")}
    for tf32, (name, out) in itertools.product((False, True), [("f32", "f32"), ("bf16", "f32"), ("f16", "f16")]):
        product(library, tf32=tf32)(x[name], x[name], out=x[out].copy())
    assert library.products == [(68, 0, 0), (68, 14, 0), (68, 2, 2), (77, 0, 0), (68, 14, 0), (68, 2, 2)]
    assert library.mode == 16
    assert (COMPUTE_32F, COMPUTE_TF32) == (68, 77)
    assert TYPES == {"float32": 0, "float16": 2, "uint16": 14}


def test_nothing_to_multiply():
    """Without terms a sum is 0; without rows or columns nothing is asked of cuBLAS."""
    library, out = Library(), np.ones((2, 3), np.float32)
    gemm = product(library)
    gemm(np.ones((2, 0), np.float32), np.ones((0, 3), np.float32), out=out, add=True)
    np.testing.assert_array_equal(out, 1)
    gemm(np.ones((2, 0), np.float32), np.ones((0, 3), np.float32), out=out)
    np.testing.assert_array_equal(out, 0)
    asked = len(library.products)
    gemm(np.ones((0, 2), np.float32), np.ones((2, 3), np.float32), out=out[:0])
    assert len(library.products) == asked


def test_stream_and_workspace():
    """cuBLAS forgets its workspace when it is given a stream."""
    library, workspace, streams = Library(), OnDevice(np.zeros(4096, np.uint8)), [STREAM]
    gemm, x = Gemm(workspace, lambda: streams[-1], library=library), OnDevice(np.ones((2, 2), np.float32))
    for _ in range(2):
        gemm(x, x, out=x)
        assert (library.stream, library.workspace) == (streams[-1], (workspace.data.ptr, 4096))
        streams.append(STREAM + 1)
    gemm.close()
    gemm.close()
    assert library.destroyed == HANDLE


def test_a_failure_is_named():
    library = Library()
    gemm, x = product(library), np.ones((2, 2), np.float32)
    library.status = 13
    with pytest.raises(DeviceError, match="cublasGemmEx failed: cuBLAS says 13"):
        gemm(x, x, out=x)


def test_what_cannot_be_multiplied_is_refused():
    x, half, y = np.ones((4, 6), np.float32), np.ones((4, 6), np.float16), np.ones((4, 4), np.float32)
    for a, b, out in [(x, x, y), (x, x.T, x), (x[None], x.T, y), (x[0], x.T, y)]:
        with pytest.raises(ValueError, match="does not fit"):
            layouts(a, b, out)
    for a, b, out in [(half, x.T, y), (x, x.T, y.astype(np.float16)), (*(x.astype(np.float64),) * 2, y)]:
        with pytest.raises(TypeError, match="both must be float32, float16 or bf16"):
            layouts(a, b.T if b.shape == a.shape else b, out)
    with pytest.raises(ValueError, match="its rows must be dense"):
        layouts(x, x.T, y.T)
    for wrong in (x[:, ::2], np.broadcast_to(x[0], x.shape), x[:, ::-1], np.ones((8, 2), np.float32)[::-1]):
        with pytest.raises(ValueError, match="neither its rows nor its columns are dense"):
            layout(wrong)
    pairs = np.zeros((3, 4), np.dtype([("x", "f4"), ("y", "i2")]))["x"]  # rows of 24 bytes, numbers 6 apart
    with pytest.raises(ValueError, match="neither"):
        layout(pairs)


def test_layouts():
    x = np.ones((4, 6), np.float32)
    assert layout(x) == (0, 6)
    assert layout(x.T) == (1, 6)
    assert layout(x[::2]) == (0, 12)
    assert layout(x[:, 2:3]) == (0, 6)
    assert layout(x[1:2, 1:]) == (0, 5)
    assert layout(x[:, 2:3].T) == (1, 6)
    assert layout(x[:0]) == (0, 6)


def test_a_missing_library_is_named(monkeypatch):
    def missing(*name):
        raise OSError

    monkeypatch.setitem(__import__("sys").modules, "cuda.pathfinder", None)
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(DeviceError, match="cuBLAS is not found: it comes with the CUDA toolkit"):
        find_library()
