"""From a .cu file to a launch on the GPU.

    launch(("cast.cu", "cast_f32_bf16"), grid, block, w, half, w.size)

A file is compiled once for each set of definitions and device, when its first kernel is asked for; after that a
launch is a look-up. What a kernel takes is read from its source, because the GPU takes whatever it is given:
a float64 where float32 is meant is no error there, only wrong numbers. Python's numbers become what the parameter is.

    extern "C" __global__ void cast_f32_bf16(const float* from, bf16* to, long long count)

What `#include "storage.cuh"` names is put into the text, because CuPy keeps compiled code by the text alone and
would not see that an included file has changed.
"""

import functools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
TYPES = {
    "bool": "bool", "int": "int32", "unsigned": "uint32", "long long": "int64", "unsigned long long": "uint64",
    "float": "float32", "double": "float64", "f16": "float16", "bf16": "uint16",     # storage.cuh
}  # fmt: skip
BOUNDS = r"(?:__launch_bounds__\s*\([^()]*\)\s*)?"
KERNEL = re.compile(rf'extern\s+"C"\s+__global__\s+{BOUNDS}void\s+{BOUNDS}(\w+)\s*\(([^()]*)\)')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[ \t]*$', re.MULTILINE)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()]*)\)((?:.*\\\n)*.*)$", re.MULTILINE)
UNASKED_SHARED = 48 * 1024                           # bytes of dynamic shared memory; more must be asked for


class Parameter(NamedTuple):
    name: str
    dtype: np.dtype
    pointer: bool


def read_source(path):
    """The file's text, with each file that it includes by "name" in place of the first line that does so."""
    seen = set()

    def text_of(path):
        seen.add(path)
        text = path.read_text(encoding="utf-8").replace("#pragma once\n", "\n")
        return INCLUDE.sub(lambda line: included(path.parent / line[1], path, text.count("\n", 0, line.start())), text)

    def included(inner, outer, above):
        inner = inner.resolve()                      # `#line`: a compiler's messages name the file and line as they are
        return "" if inner in seen else f'#line 1 "{inner.name}"\n{text_of(inner)}\n#line {above + 2} "{outer.name}"'

    return text_of(Path(path).resolve())


def signatures(source):
    """{kernel: [its parameters]}"""
    source = expand(re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL))
    return {name: [parameter(text) for text in split(inside)] for name, inside in KERNEL.findall(source)}


def expand(source):
    """Macros that write kernels, written out: KERNELS(f32, float), with norm_##suffix inside."""
    macros = [macro for macro in MACRO.findall(source) if "__global__" in macro[2]]
    source = MACRO.sub("", source)
    for name, names, body in macros:
        words, body = re.compile(rf"\b({'|'.join(split(names))})\b"), body.replace("\\\n", "\n")
        for arguments in re.findall(rf"^[ \t]*{name}\(([^()]*)\)", source, re.MULTILINE):
            instead = dict(zip(split(names), split(arguments), strict=True))
            source += "\n" + re.sub(r"\s*##\s*", "", words.sub(lambda word, instead=instead: instead[word[0]], body))
    return source


def split(text):
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def parameter(text):
    """const float* __restrict__ w -> w, float32, a pointer"""
    words = re.sub(r"\b(const|__restrict__|__restrict)\b|\*", " ", text).split()
    kind = " ".join(words[:-1])
    if kind not in TYPES:
        raise TypeError(f"a kernel's parameter is written {text!r}; its type must be one of: {', '.join(TYPES)}")
    return Parameter(words[-1], np.dtype(TYPES[kind]), "*" in text)


class Kernel:
    """One function of a compiled file."""

    def __init__(self, name, parameters, function):
        self.name, self.parameters, self.function = name, parameters, function
        self.shared_mem = UNASKED_SHARED

    def __call__(self, grid, block, *arguments, shared_mem=0):
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments, not {len(arguments)}")
        arguments = tuple(map(self.checked, self.parameters, arguments))
        if shared_mem > self.shared_mem:
            self.function.max_dynamic_shared_size_bytes = self.shared_mem = shared_mem
        self.function(grid, block, arguments, shared_mem=shared_mem)

    def checked(self, parameter, value):
        if not parameter.pointer:
            return self.number(parameter, value)
        if value is None:                            # a null pointer
            return None
        import cupy

        if not isinstance(value, cupy.ndarray):
            self.refuse(parameter, f"{type(value).__name__}; it must be an array on the GPU")
        if value.dtype != parameter.dtype:
            self.refuse(parameter, f"{value.dtype}; it must be {parameter.dtype}")
        if not value.flags.c_contiguous:
            self.refuse(parameter, "not contiguous; its rows must follow one another without gaps")
        return value

    def number(self, parameter, value):
        if isinstance(value, np.generic):
            if value.dtype != parameter.dtype:
                self.refuse(parameter, f"{value.dtype}; it must be {parameter.dtype}")
            return value
        if not isinstance(value, {"b": bool, "i": int, "u": int, "f": float | int}[parameter.dtype.kind]):
            self.refuse(parameter, f"{type(value).__name__}; it must be a number that {parameter.dtype} holds")
        try:
            return parameter.dtype.type(value)
        except OverflowError:
            self.refuse(parameter, f"{value}; {parameter.dtype} does not reach so far")

    def refuse(self, parameter, what):
        raise TypeError(f"{self.name}: {parameter.name} is {what}")


@functools.cache
def load(cupy, file, definitions, device):
    """{name: kernel} of a file, compiled for the device that is in use."""
    source = read_source(HERE / file)
    module = cupy.RawModule(code=source, options=("--std=c++17", *(f"-D{name}" for name in definitions)))
    kernels = signatures(source).items()
    return {name: Kernel(name, parameters, module.get_function(name)) for name, parameters in kernels}


def kernel(file, name, *definitions):
    """definitions: "HEAD=64" and their like."""
    import cupy

    return load(cupy, file, definitions, cupy.cuda.runtime.getDevice())[name]


def launch(which, grid, block, *arguments, shared_mem=0):
    """Start a kernel, named by its file, its name and any definitions, on the current stream, without waiting."""
    kernel(*which)(grid, block, *arguments, shared_mem=shared_mem)
