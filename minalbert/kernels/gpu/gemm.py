"""The matrix product on a GPU, by cuBLAS.

    out = a b        or, with add,        out = out + a b

a: (M, K)   b: (K, N)   out: (M, N); a and b may be transposed views or slices of wider rows: nothing is copied

float32 in and out, or 16 bits in (float16, or bf16 in uint16 arrays) and 16 or 32 out, as a gradient of weights
wants it. Sums are float32. With `tf32` the tensor cores multiply float32 numbers too, with 10 bits of their fractions.

cuBLAS counts by columns: what lies in memory as out by rows is outᵀ by columns, (N, M). So it is asked for
outᵀ = bᵀ aᵀ, with b first, and an array by rows is a "plain" operand.

CuPy has cuBLAS too, but refuses to call it while a stream is captured into a graph, and its `matmul` cannot add. We
have a handle of our own, which has its scratch memory from the beginning: nothing is allocated in a product.
"""

import ctypes

import numpy as np

from ...errors import DeviceError
from ..matrices import check_product, layout

TYPES = {"float32": 0, "float16": 2, "uint16": 14}   # CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF
COMPUTE_32F, COMPUTE_TF32, DEFAULT_ALGORITHM = 68, 77, -1
SUMS_STAY_FLOAT32 = 16                               # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
WORKSPACE = 2**25                                    # bytes: what NVIDIA recommends for an H100
NAMES = ("libcublas.so.13", "libcublas.so.12")

INT, POINTER = ctypes.c_int, ctypes.c_void_p
NUMBER = ctypes.POINTER(ctypes.c_float)
FUNCTIONS = {
    "cublasCreate_v2": (ctypes.POINTER(POINTER),),
    "cublasDestroy_v2": (POINTER,),
    "cublasSetStream_v2": (POINTER, POINTER),
    "cublasSetWorkspace_v2": (POINTER, POINTER, ctypes.c_size_t),
    "cublasSetMathMode": (POINTER, INT),
    "cublasGemmEx": (
        POINTER, INT, INT, INT, INT, INT,                                # handle, transposed first and second, m, n, k
        NUMBER, POINTER, INT, INT, POINTER, INT, INT,                    # alpha, first, its type, stride; second, ...
        NUMBER, POINTER, INT, INT, INT, INT,                             # beta, out, its type, stride; arithmetic, how
    ),
}  # fmt: skip


def layouts(a, b, out):
    """(transposed, stride) of a and of b, and out's stride; a TypeError or ValueError if cuBLAS cannot multiply so."""
    check_product(a, b, out)
    if a.dtype != b.dtype or str(a.dtype) not in TYPES or str(out.dtype) not in ("float32", str(a.dtype)):
        raise TypeError(
            f"a product of {a.dtype} and {b.dtype} to fill {out.dtype}: both must be float32, float16 or bf16 (uint16),"
            " and out the same or float32"
        )
    of_a, of_b, (transposed, stride) = layout(a), layout(b), layout(out)
    if transposed:
        raise ValueError(f"out has strides {out.strides}: its rows must be dense")
    return of_a, of_b, stride


class Gemm:
    """gemm = Gemm(workspace, stream); gemm(a, b, out=out, add=True)

    workspace: bytes on the GPU that nobody else writes to; stream: a function that gives the current one's pointer
    """

    def __init__(self, workspace, stream, tf32=False, library=None):
        self.library = declared(library or find_library())
        self.workspace, self.current_stream, self.tf32 = workspace, stream, tf32
        self.handle, self.stream = POINTER(), None
        self.call("cublasCreate_v2", ctypes.byref(self.handle))
        self.call("cublasSetMathMode", self.handle, SUMS_STAY_FLOAT32)

    def __call__(self, a, b, *, out, add=False):
        (a_transposed, a_stride), (b_transposed, b_stride), out_stride = layouts(a, b, out)
        (M, K), N = a.shape, b.shape[1]
        if 0 in (M, N):
            return
        self.follow(self.current_stream())
        one, before = ctypes.c_float(1.0), ctypes.c_float(add)
        type_of_inputs, type_of_out = TYPES[str(a.dtype)], TYPES[str(out.dtype)]
        arithmetic = COMPUTE_TF32 if self.tf32 and a.dtype == np.float32 else COMPUTE_32F
        self.call(
            "cublasGemmEx", self.handle, b_transposed, a_transposed, N, M, K,
            ctypes.byref(one), b.data.ptr, type_of_inputs, b_stride, a.data.ptr, type_of_inputs, a_stride,
            ctypes.byref(before), out.data.ptr, type_of_out, out_stride, arithmetic, DEFAULT_ALGORITHM,
        )  # fmt: skip

    def follow(self, stream):
        """cuBLAS forgets its workspace with its stream."""
        if stream != self.stream:
            self.call("cublasSetStream_v2", self.handle, stream)
            self.call("cublasSetWorkspace_v2", self.handle, self.workspace.data.ptr, self.workspace.nbytes)
            self.stream = stream

    def call(self, name, *arguments):
        if status := getattr(self.library, name)(*arguments):
            raise DeviceError(f"{name} failed: cuBLAS says {status}")

    def close(self):
        if self.handle:
            self.call("cublasDestroy_v2", self.handle)
            self.handle = POINTER()


def declared(library):
    """The library with the types of its functions' arguments declared: ctypes would guess."""
    for name, types in FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, INT
    return library


def find_library():
    """cuBLAS where CuPy finds it (NVIDIA's wheels, conda, CUDA_PATH), or where the system does."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)
    except (ImportError, OSError, RuntimeError):         # pathfinder's own errors are RuntimeErrors
        pass
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise DeviceError("cuBLAS is not found: it comes with the CUDA toolkit, or by pip install 'cupy-cuda13x[ctk]'")
