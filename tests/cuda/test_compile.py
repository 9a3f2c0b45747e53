"""Every kernel compiles for an A100 and an H100 or H200, and keeps all its numbers in registers.

A file that needs definitions, or has to stay below a number of registers, says so, one line for each way to build it:

    // NVRTC: HEAD=64 DROPOUT=1, at most 168 registers
"""

import re

import offline
import pytest
from cpu_module import KERNELS

from minalbert.kernels.gpu.launch import read_source, signatures

FILES = sorted(KERNELS.glob("*.cu"))
BUILD = re.compile(r"^// NVRTC:((?: \w+=\w+)*)(?:,? ?at most (\d+) registers)?$", re.MULTILINE)
MOST = 255  # that a thread can have
pytestmark = pytest.mark.skipif(bool(offline.missing()), reason=str(offline.missing()))


def builds(path):
    """[(definitions, most registers)]"""
    found = BUILD.findall(path.read_text(encoding="utf-8"))
    return [(tuple(names.split()), int(most or MOST)) for names, most in found] or [((), MOST)]


WAYS = [
    pytest.param(path, *build, id=" ".join([path.stem, *build[0]])) for path in FILES for build in builds(path)
]  # fmt: skip


@pytest.mark.parametrize("architecture", [80, 90])
@pytest.mark.parametrize(("path", "definitions", "most"), WAYS)
def test_compiles_without_spills(path, definitions, most, architecture):
    source = read_source(path)
    kernels = offline.compiled(source, architecture, definitions)
    assert set(kernels) == set(signatures(source))
    for name, needs in kernels.items():
        print(f"{name}: {needs.registers} registers, {needs.shared} bytes of shared memory")
        assert needs.spilled == 0, name
        assert needs.registers <= most, name


def test_a_spill_is_seen():
    """100 numbers that must all be there at once, in 32 registers."""
    source = """
    extern "C" __global__ void __launch_bounds__(1024, 2) greedy(float* x) {
        float number[100];
        #pragma unroll
        for (int i = 0; i < 100; i++) number[i] = x[i * 1024 + threadIdx.x];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 100; i++) x[(99 - i) * 1024 + threadIdx.x] = number[i];
    }"""
    assert offline.compiled(source, 90)["greedy"].spilled > 0


def test_a_mistake_is_named_with_its_line():
    with pytest.raises(offline.CompileError, match=r"kernels\.cu\(2\): error: .*nonsense"):
        offline.compiled('extern "C" __global__ void f() {\nnonsense();\n}', 90)
