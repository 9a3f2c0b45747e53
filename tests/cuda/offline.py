"""A .cu file compiled for a GPU on a machine that has none, and what each kernel then needs.

NVRTC is the compiler that CuPy calls. It needs no card, only its own library and, for the 16-bit types, two headers:
the packages nvidia-cuda-nvrtc and nvidia-cuda-runtime. It is called here through its C interface.
"""

import ctypes
import functools
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

OPTIONS = ("--std=c++17", "-ftz=true", "--device-as-default-execution-space")  # what CuPy passes on
ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?(?=Compiling entry function|\Z)", re.DOTALL)
PACKAGES = "nvidia-cuda-nvrtc and nvidia-cuda-runtime"


class Needs(NamedTuple):
    """What one kernel needs, by the assembler's report."""

    registers: int
    spilled: int  # bytes written to memory for want of registers
    shared: int  # bytes, without those asked for at the launch


class CompileError(RuntimeError):
    pass


def files(pattern):
    """In the packages called nvidia."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else ()
    return sorted(path for folder in folders for path in Path(folder).glob(pattern))


def missing():
    """None where kernels can be compiled for a GPU, else why not."""
    if not files("*/lib/libnvrtc.so.*") or not files("*/include/cuda_fp16.h"):
        return f"NVRTC is not installed (pip install {PACKAGES.replace(' and', '')})"
    return None


@functools.cache
def nvrtc():
    libraries = [path for path in files("*/lib/libnvrtc.so.*") if "alt" not in path.name]
    return ctypes.CDLL(str(libraries[0]))


def compiled(source, architecture, definitions=()):
    """{kernel: what it needs}; architecture: 80 or 90."""
    library, program = nvrtc(), ctypes.c_void_p()
    text = source.encode()
    library.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None)
    include = files("*/include/cuda_fp16.h")[0].parent
    options = (*OPTIONS, f"-arch=sm_{architecture}", f"-I{include}", "--ptxas-options=-v")
    options = [option.encode() for option in (*options, *(f"-D{name}" for name in definitions))]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = log_of(library, program)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        raise CompileError(log)
    return {entry[1]: needs(entry[0]) for entry in ENTRY.finditer(log)}


def log_of(library, program):
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    return log.value.decode()


def needs(report):
    """Used 40 registers, used 1 barriers, 128 bytes smem"""
    numbers = [re.search(rf"(\d+) {what}", report) for what in ("registers", "bytes spill stores", "bytes smem")]
    return Needs(*(int(number[1]) if number else 0 for number in numbers))
