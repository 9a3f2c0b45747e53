"""What the implementations of the kernels have in common, and how one is chosen."""

import importlib.util
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest
from fingerprint import fingerprint

from minalbert.errors import DeviceError
from minalbert.kernels import PRECISIONS, cpu, gpu, implementation, kernels_for, missing
from minalbert.kernels.implementation import Implementation

SIGNATURE = re.compile(r"^    (\w+): Callable +# \(([^()]*)\)$", re.MULTILINE)
NAMES = [name for name in Implementation._fields if name.islower()]


def implementations():
    found = {"cpu": cpu.KERNELS, "cpu, bf16": cpu.BF16_KERNELS, "gpu": gpu.Kernels}
    if not missing("compiled", "full", "cpu"):
        found |= {"compiled": kernels_for("compiled", "full", "cpu")}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_implementation_takes_the_arguments_that_are_written(name):
    """Outputs by keyword alone, except where a loop of numba is a kernel: it knows no such arguments."""
    source = re.sub(r"\n +# ", " ", inspect.getsource(implementation))
    written = dict(SIGNATURE.findall(source))
    assert set(written) == set(NAMES)
    expected = list(inspect.signature(eval(f"lambda {written[name]}: None")).parameters.values())
    for which, kernels in implementations().items():
        if which == "gpu" and name.startswith("sparse_attention"):
            assert not hasattr(kernels, name)  # there sparse attention needs kernels "plain"
            continue
        kernel = getattr(kernels, name, gpu.gemm.Gemm.__call__)  # an object of gpu.Kernels has its own gemm
        signature = inspect.signature(getattr(kernel, "py_func", kernel))
        parameters = [each for each in signature.parameters.values() if each.name not in ("self", "gpu")]
        if hasattr(kernel, "py_func"):
            assert [each.name for each in parameters] == [each.name for each in expected]
        else:
            assert parameters == expected


@pytest.mark.parametrize("which", ["cpu", "compiled"])
@pytest.mark.parametrize("columns", [1, 7, 100, 768])
def test_a_norms_output_comes_again_with_the_same_bits(which, columns):
    """Written over its residual connection, or elsewhere; and from xhat alone, as backward has it."""
    if which not in implementations():
        pytest.skip(missing("compiled", "full", "cpu"))
    do, rng = implementations()[which], np.random.default_rng(columns)
    h, residual = rng.standard_normal((2, 70, columns), np.float32)
    gain, bias = rng.standard_normal((2, columns), np.float32)
    found = []
    for out in (residual.copy(), np.empty_like(h)):
        xhat, straight = h.copy(), out if len(found) == 0 else residual
        do.norm_forward(xhat, gain, bias, 1e-12, residual=straight, out=out, rstd=np.empty(70, np.float32))
        again = np.empty_like(out)
        do.norm_output(xhat, gain, bias, out=again)
        found += [fingerprint(out), fingerprint(again)]
    assert found == found[:1] * 4


def test_which_implementation():
    assert kernels_for("fused", "full", "cpu") is cpu.KERNELS
    assert kernels_for("fused", "bf16", "cpu") is cpu.BF16_KERNELS
    assert (cpu.KERNELS.WEIGHTS, cpu.BF16_KERNELS.WEIGHTS) == (None, "uint16")
    assert cpu.KERNELS.STORAGE is cpu.BF16_KERNELS.STORAGE is None
    assert list(PRECISIONS["cuda"]) == list(gpu.STORAGE_AND_TF32)


def test_what_cannot_be_used_says_why(monkeypatch):
    assert missing("fused", "full", "cpu") is None
    monkeypatch.setattr("minalbert.kernels.find_spec", lambda name: None)
    assert missing("compiled", "full", "cpu") == "numba is not installed (pip install 'minalbert[fast]')"
    monkeypatch.setattr(cpu.bf16, "_library", lambda: raised("oneDNN is not installed (pip install x)"))
    assert missing("fused", "bf16", "cpu") == "oneDNN is not installed (pip install x)"
    monkeypatch.setattr(gpu, "cuda_missing", lambda: None)
    monkeypatch.setattr(gpu, "find_library", lambda: raised("cuBLAS is not found"))
    assert missing("fused", "full", "cuda") == "cuBLAS is not found"
    assert missing("compiled", "full", "cuda") == "compiled kernels are for the CPU"


def raised(message):
    raise DeviceError(message)


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="without numba nothing can import it")
def test_the_cpus_kernels_import_neither_numba_nor_cupy():
    code = "import sys, minalbert.kernels.cpu; sys.exit(bool({'numba', 'cupy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
