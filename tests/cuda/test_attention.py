"""The GPU's attention against `layers.attention` in float64, through its launchers.

Tolerances are of the relative error in the Euclidean norm. A result of p bits of precision is off by at most 2⁻ᵖ, and
by 0.58 of that in the mean square; probabilities and their gradients are rounded so as well before they are multiplied,
with errors that average out. So 2⁻ᵖ holds with room: bf16 has 8 bits, float16 11. In float32 sums of some hundred terms
make 10⁻⁶. The gradients of q and k are differences, zero where there is but one key: their errors are measured by the
largest of the three gradients. A row whose keys are all masked has an lse near -10000, where float32 goes in steps of
2⁻¹⁰: its gradients are off by up to half of that, whatever the storage.
"""

import os
import subprocess
import sys

import numpy as np
import poisoned
import pytest
from cpu_module import HERE, KERNELS, CpuKernel
from storage import NAMES, as_float64, of_storage, unwritten

from minalbert import layers
from minalbert.backend import DropoutKey
from minalbert.kernels import Dropout
from minalbert.kernels.gpu.attention import attention_launch

TOLERANCE = {"f32": 1e-6, "bf16": 2**-8, "f16": 2**-11}
ROUNDED_LSE = 2**-11
RATE = 0.1

# (B, T, heads, D): one token; tiles that are full, nearly empty, and both; a head size for each kernel
SIMPLE = [(2, 1, 1, 20), (3, 5, 2, 20), (3, 64, 1, 128), (1, 100, 2, 3), (3, 130, 1, 20)]
TENSOR_CORES = [(2, 1, 2, 32), (3, 5, 1, 64), (3, 64, 2, 64), (3, 100, 1, 32), (3, 130, 2, 64), (2, 100, 1, 128)]
CASES = [("f32", size) for size in SIMPLE] + [("bf16", size) for size in [*TENSOR_CORES, (3, 37, 2, 20)]]
CASES += [("f16", size) for size in TENSOR_CORES[2:]]


class Example:
    def __init__(self, name, size, rate=0.0, spread=1.0, mask=None):
        self.B, self.T, self.heads, self.D = B, T, heads, D = size
        self.name, self.tokens = name, (B * T, heads * D)
        rng = np.random.default_rng(0)
        self.qkv = of_storage(spread * rng.standard_normal((B * T, 3 * heads * D), np.float32), name)
        self.dcontext = of_storage(rng.standard_normal(self.tokens, np.float32), name)
        self.mask = masks(B, T) if mask is None else mask
        self.key = DropoutKey(seed=2**63 + 1, step=7, layer=3, site=2**40, example=5)
        self.rate, self.tolerance = rate, TOLERANCE[name]

    def gpu(self, cupy):
        """context, lse, dqkv"""
        dropout = Dropout(self.rate, self.key, self.T) if self.rate else None
        outputs = unwritten(self.tokens, self.name), unwritten((self.B, self.heads, self.T), "f32")
        context, lse = map(cupy.asarray, outputs)
        qkv, mask, dcontext = map(cupy.asarray, (self.qkv, self.mask, self.dcontext))
        dqkv, do = cupy.asarray(unwritten(self.qkv.shape, self.name)), poisoned.kernels()
        do.attention_forward(qkv, mask, self.heads, dropout, context=context, lse=lse)
        do.attention_backward(dcontext, qkv, mask, self.heads, dropout, context, lse, dqkv=dqkv)
        return context.get(), lse.get(), dqkv.get()

    def expected(self):
        q, k, v = self.by_head(self.qkv)
        (dcontext,) = self.by_head(self.dcontext)
        mask = self.mask[:, None, None, :].astype(np.float64)
        context, cache = layers.attention_forward(q, k, v, mask, self.rate, self.key)
        dq, dk, dv, _ = layers.attention_backward(dcontext, cache)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.D) + mask
        return context, np.logaddexp.reduce(scores, axis=-1), np.stack([dq, dk, dv])

    def by_head(self, x):
        """(B·T, n·H) -> (n, B, N, T, D) in float64"""
        return as_float64(x).reshape(self.B, self.T, -1, self.heads, self.D).transpose(2, 0, 3, 1, 4)

    def check(self, cupy):
        context, lse, dqkv = self.gpu(cupy)
        expected_context, expected_lse, expected_dqkv = self.expected()
        for b in range(self.B):
            (ours,) = self.by_head(context)
            to_be = expected_context[b]
            assert np.linalg.norm(ours[b] - to_be) < self.tolerance * np.linalg.norm(to_be)
            masked = self.mask[b].max() < 0
            np.testing.assert_allclose(lse[b], expected_lse[b], rtol=1e-6, atol=2e-6)
            largest = max(np.linalg.norm(gradient[b]) for gradient in expected_dqkv)
            for which, of, to_be in zip("qkv", self.by_head(dqkv), expected_dqkv, strict=True):
                assert np.linalg.norm(of[b] - to_be[b]) < (self.tolerance + ROUNDED_LSE * masked) * largest, (b, which)
        return context, lse, dqkv


def masks(B, T):
    """Example 0 with holes, its first key kept; 1 with nothing but padding; 2 padded at the end."""
    mask = np.zeros((B, T), np.float32)
    mask[0, 1:][np.random.default_rng(1).random(T - 1) < 0.4] = -10000
    mask[1:2] = -10000
    mask[2:, -(-T // 3) :] = -10000
    return mask


@pytest.mark.parametrize("rate", [0.0, RATE])
@pytest.mark.parametrize(("name", "size"), CASES)
def test_attention_and_its_gradients(gpu, monkeypatch, name, size, rate):
    monkeypatch.setattr(CpuKernel, "order", 2)
    Example(name, size, rate).check(gpu)


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize(
    ("name", "size"), [("f32", (2, 70, 1, 20)), ("bf16", (2, 150, 1, 64)), ("f16", (1, 70, 1, 128))]
)
def test_the_order_of_threads_does_not_matter(gpu, monkeypatch, name, size, order):
    results = []
    for number in (2, order):
        monkeypatch.setattr(CpuKernel, "order", number)
        results.append(Example(name, size, RATE).check(gpu))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_the_probabilities_of_a_fully_padded_example_are_those_without_mask(gpu):
    """To the last bit, whatever a mask of -10000 leaves of a score's digits."""
    name, size = "f32", (1, 100, 2, 20)
    padded = Example(name, size, mask=np.full((1, 100), -10000, np.float32)).gpu(gpu)
    free = Example(name, size, mask=np.zeros((1, 100), np.float32)).gpu(gpu)
    assert np.array_equal(padded[0], free[0])
    np.testing.assert_allclose(padded[1] + 10000, free[1], atol=ROUNDED_LSE)


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_large_scores(gpu, name):
    """Of some 200: exp(200) is beyond float32. A score's 24 bits leave the probabilities 2⁻²⁴ · 200 or so, 10⁻⁵.

    Nearly all goes to one key: dprobs and delta are nearly equal, and the error that delta has from context's rounding
    stands out in their difference. bf16 has 2⁻⁶ for that.
    """
    example = Example(name, (3, 100, 1, 20 if name == "f32" else 64), spread=8.0)
    example.tolerance = max(4 * example.tolerance, 2e-5)
    _, lse, _ = example.check(gpu)
    assert lse.max() > 150


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_behind_the_last_key_is_not_looked_at(gpu, name):
    """NaN there stays out of context and gradients, but for the rows that are NaN themselves."""
    example = Example(name, (1, 100, 1, 20 if name == "f32" else 64))
    example.mask[:, 50:] = -10000
    width = example.tokens[1]
    before = example.gpu(gpu)
    example.qkv[50:, width:] = unwritten((50, 2 * width), name)  # k and v
    after = example.gpu(gpu)
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other)


def test_the_key_is_read_from_memory(gpu):
    """So that a captured step may be replayed as the next one."""
    example = Example("f32", (1, 33, 1, 20), RATE)
    here, there = example.key, example.key.at(step=8, example=1)
    context, lse = gpu.asarray(np.empty(example.tokens, np.float32)), gpu.asarray(np.empty((1, 1, 33), np.float32))
    inputs, do = (gpu.asarray(example.qkv), gpu.asarray(example.mask)), poisoned.kernels()
    do.write_key(there)
    do.written_key = here.seed, here.step, here.example  # as while a step is replayed that was captured with this key
    do.attention_forward(*inputs, 1, Dropout(RATE, here, 33), context=context, lse=lse)
    example.key = there
    np.testing.assert_allclose(example.by_head(context.get())[0], example.expected()[0], atol=1e-6)


def test_a_head_that_does_not_fit(gpu):
    with pytest.raises(ValueError, match=r"a head of 129 numbers does not fit .*, which takes 1 to 128"):
        Example("f32", (1, 2, 1, 129)).gpu(gpu)


def test_which_kernel():
    def file(dtype, D):
        return attention_launch("attention_forward", dtype, D, False).kernel[0]

    assert [file("uint16", D) for D in (32, 64, 128)] == ["attention.cu"] * 3
    assert [file("float16", 48), file("float32", 64)] == ["attention_simple.cu"] * 2


@pytest.mark.parametrize("D", [20, 32, 64, 128])
@pytest.mark.parametrize("dropout", [False, True])
def test_the_tiles_that_are_launched_are_those_that_test_compile_compiles(D, dropout):
    for name in ("attention_forward", "attention_backward_q", "attention_backward_kv"):
        file, _, *definitions = attention_launch(name, "uint16", D, dropout).kernel
        if file != "attention_simple.cu":
            assert f"// NVRTC: {' '.join(definitions)}\n" in (KERNELS / file).read_text(encoding="utf-8")


SANITIZED = """
import sys
import cpu_module, fake_cupy
module = cpu_module.CpuModule
class Sanitized(module):
    def __init__(self, code, flags):
        super().__init__(code.replace(*{replaced!r}), (*flags, *cpu_module.SANITIZERS))
cpu_module.CpuModule, sys.modules["cupy"] = Sanitized, fake_cupy
import test_attention
for name, size in [("f32", (2, 33, 1, 20)), ("bf16", (2, 70, 1, 64))]:
    test_attention.Example(name, size, 0.1).check(fake_cupy)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replaced", "caught"), [(("", ""), None), (("if (row < T)", "if (row <= T)"), "heap-buffer-overflow")]
)
def test_memory(replaced, caught):
    """Under the address and undefined-behaviour sanitizers; a row too many is seen."""
    libasan = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not os.path.isabs(library := libasan.stdout.strip()):
        pytest.skip("g++ has no libasan")
    path = os.pathsep.join(map(str, (KERNELS.parents[2], HERE, HERE.parent)))
    environment = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": path}
    command = [sys.executable, "-c", SANITIZED.format(replaced=replaced)]
    result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if caught is None:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode != 0
        assert caught in result.stderr
