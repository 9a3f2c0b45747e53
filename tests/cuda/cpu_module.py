"""CuPy's RawModule over NumPy arrays: a .cu file, compiled by g++ behind cuda_on_cpu.h.

    cast = CpuModule(KERNELS / "cast.cu").get_function("cast_f32_bf16")
    cast((blocks,), (256,), (w, half, np.int64(w.size)), order=2)

CuPy hands a kernel whatever it is given. Here the number and the types of the arguments are compared with what g++
made of the parameters. Compiled files are kept in a directory for temporary files, by what they were made of.
"""

import contextlib
import ctypes
import functools
import getpass
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from minalbert.kernels.gpu.launch import read_source, signatures

HERE = Path(__file__).parent
WEEK = 7 * 24 * 3600
KERNELS = HERE.parents[1] / "minalbert" / "kernels" / "gpu"
SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
FLAGS = SANITIZERS if os.environ.get("CUDA_ON_CPU") == "sanitized" else ("-O2",)
# Each library has its own shared memory, though names be the same; one type may be read as another, as with NVRTC; and
# no fused multiply-adds, so that all machines round alike.
ALWAYS = ("-std=c++17", "-shared", "-fPIC", "-fno-gnu-unique", "-fno-strict-aliasing", "-ffp-contract=off")
GLUE = """
extern "C" const char* launch_{0}(const unsigned* grid, const unsigned* block, size_t shared, void** a, int order) {{
  return shim::launch({0}, grid, block, shared, a, order);
}}
extern "C" const char* signature_{0}() {{ return shim::signature({0}); }}
"""
SHARED_UNASKED, SHARED_MOST = 48 * 1024, 227 * 1024  # bytes a block may have: without asking, and at all


def missing():
    """None where kernels can run on the CPU, else why not."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        return "the fibers of cuda_on_cpu.h are written for Linux on x86-64 and aarch64"
    if not shutil.which("g++"):
        return "g++ is not installed; it compiles the GPU's kernels for the CPU here"
    return None


@functools.cache
def cache():
    """A directory of our own: what lies there is loaded and run."""
    path = Path(tempfile.gettempdir()) / f"minalbert-cuda-on-cpu-{getpass.getuser()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if path.is_symlink() or path.stat().st_uid != os.getuid():
            raise PermissionError(path)
    except OSError:
        path = Path(tempfile.mkdtemp(prefix="minalbert-cuda-on-cpu-"))
    for library in path.glob("*.so"):
        with contextlib.suppress(FileNotFoundError):  # another process may do the same
            if library.stat().st_mtime < time.time() - WEEK:
                library.unlink()
    return path


def compiled(source, flags):
    """The library's path; made if it is not there."""
    header = (HERE / "cuda_on_cpu.h").read_bytes()
    name = hashlib.sha256(repr((header, source, ALWAYS, flags, platform.machine())).encode()).hexdigest()[:24]
    library = cache() / f"{name}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as workshop:
            code, made = Path(workshop) / "kernels.cpp", Path(workshop) / "kernels.so"
            code.write_text(source, encoding="utf-8")
            result = subprocess.run(
                ["g++", *ALWAYS, f"-I{HERE}", *flags, str(code), "-o", str(made)], capture_output=True, text=True
            )
            if result.returncode:
                raise RuntimeError(f"g++ does not compile this:\n{result.stderr}")
            os.replace(made, library)  # two processes may make the same at once
    return library


class CpuModule:
    def __init__(self, code, flags=FLAGS):
        """code: text, or the path of a file."""
        text = read_source(code) if isinstance(code, Path) else code
        glue = "".join(map(GLUE.format, signatures(text)))
        self.library = ctypes.CDLL(str(compiled(f'#include "cuda_on_cpu.h"\n#line 1\n{text}\n{glue}', tuple(flags))))

    def get_function(self, name):
        return CpuKernel(self.library, name)


class CpuKernel:
    order = 0  # of threads, where a launch does not say: cuda_on_cpu.h

    def __init__(self, library, name):
        self.name, self.max_dynamic_shared_size_bytes = name, SHARED_UNASKED
        self.launch, signature = getattr(library, f"launch_{name}"), getattr(library, f"signature_{name}")
        self.launch.restype = signature.restype = ctypes.c_char_p
        self.types = signature().decode().split()  # "f4", "i4", "*f4", "*x2", ...

    def __call__(self, grid, block, args, *, shared_mem=0, order=None):
        if len(args) != len(self.types):
            raise TypeError(f"{self.name} takes {len(self.types)} arguments, not {len(args)}")
        self.check_sizes(grid, block, shared_mem)
        cells = [self.cell(i, value, type) for i, (value, type) in enumerate(zip(args, self.types, strict=True))]
        pointers = (ctypes.c_void_p * len(args))(*(cell.ctypes.data for cell in cells))
        order = self.order if order is None else order
        error = self.launch(three(grid), three(block), ctypes.c_size_t(shared_mem), pointers, ctypes.c_int(order))
        if error:
            raise RuntimeError(f"{self.name}: {error.decode()}")

    def check_sizes(self, grid, block, shared_mem):
        """A GPU refuses these too."""
        if not all(0 < n <= most for n, most in zip(grid, (2**31 - 1, 65535, 65535), strict=False)):
            raise ValueError(f"{self.name}: a grid of {grid} blocks cannot be launched")
        if not 0 < np.prod(block) <= 1024:
            raise ValueError(f"{self.name}: a block of {block} threads cannot be launched")
        if shared_mem > min(self.max_dynamic_shared_size_bytes, SHARED_MOST):
            raise ValueError(
                f"{self.name}: {shared_mem} bytes of shared memory; it may have {self.max_dynamic_shared_size_bytes}, "
                "which max_dynamic_shared_size_bytes sets"
            )

    def cell(self, i, value, type):
        """An array of one element that holds what the kernel is to get: a number, or an address."""
        if type[0] != "*":
            if isinstance(value, np.ndarray) or np.asarray(value).dtype.str[1:] not in (type, type.replace("u1", "b1")):
                got = "an array" if isinstance(value, np.ndarray) else np.asarray(value).dtype
                raise TypeError(f"{self.name}: argument {i} is {got}; the kernel takes {type}")
            return np.array([value])
        if value is None:
            return np.array([0], np.uint64)
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{self.name}: argument {i} is {value!r}; it must be an array")
        fits = {"u2": ("u2", "f2"), "x2": ("u2", "f2"), "u1": ("u1", "b1")}.get(type[1:], (type[1:],))
        if value.dtype.str[1:] not in fits:
            raise TypeError(f"{self.name}: argument {i} is an array of {value.dtype}; the kernel takes {type[1:]}")
        if not value.flags.c_contiguous:
            raise ValueError(f"{self.name}: argument {i} is not contiguous")
        return np.array([value.ctypes.data], np.uint64)


def three(sizes):
    return (ctypes.c_uint * 3)(*(*map(int, sizes), 1, 1, 1)[:3])
