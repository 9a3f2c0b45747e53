"""The GPU's attention against `layers.attention` in float64, through its launchers.

Tolerances are of the relative error in the Euclidean norm. A result of p bits of precision is off by at most 2⁻ᵖ, and
by 0.58 of that in the mean square; probabilities and their gradients are rounded so as well before they are multiplied,
with errors that average out. So 2⁻ᵖ holds with room: bf16 has 8 bits, float16 11. In float32 sums of some hundred terms
make 10⁻⁶. The gradients of q and k are differences, zero where there is but one key: their errors are measured by the
largest of the three gradients. A row whose mask is -10000 throughout has an lse near it, where float32 goes in steps of
2⁻¹⁰: its gradients are off by up to half of that, whatever the storage.
"""

import os
import subprocess
import sys

import numpy as np
import poisoned
import pytest
from cpu_module import HERE, KERNELS, SANITIZERS, CpuKernel
from storage import NAMES, as_float64, of_storage, unwritten

from minalbert import layers
from minalbert.backend import DropoutKey, lowest
from minalbert.kernels import Dropout
from minalbert.kernels.gpu.attention import attention_launch

TOLERANCE = {"f32": 1e-6, "bf16": 2**-8, "f16": 2**-11}
ROUNDED_LSE = 2**-11
PADDING = lowest("float32")
RATE = 0.1

# (B, T, heads, D): one token; tiles that are full, nearly empty, and both; a head size for each kernel
SIMPLE = [(2, 1, 1, 20), (3, 5, 2, 20), (3, 64, 1, 128), (1, 100, 2, 3), (3, 130, 1, 20)]
TENSOR_CORES = [(2, 1, 2, 32), (3, 5, 1, 64), (3, 64, 2, 64), (3, 100, 1, 32), (3, 130, 2, 64), (2, 100, 1, 128)]
CASES = [("f32", size) for size in SIMPLE] + [("bf16", size) for size in [*TENSOR_CORES, (3, 37, 2, 20)]]
CASES += [("f16", size) for size in TENSOR_CORES[2:]]


# The same with Q: one query; a tile that is not full, two and one row, as many queries as keys but one
FEWER = [("f32", (3, 5, 2, 20), 1), ("f32", (3, 100, 2, 3), 33), ("f32", (2, 70, 1, 128), 40)]
FEWER += [("f32", (1, 130, 3, 20), 129), ("f16", (3, 5, 3, 32), 4)]
FEWER += [("bf16", (3, 37, 2, 20), 9), ("bf16", (3, 130, 2, 64), 1), ("bf16", (3, 150, 2, 64), 20)]
FEWER += [("bf16", (3, 150, 1, 32), 129), ("bf16", (3, 100, 2, 128), 70)]
FEWER += [("f16", (3, 130, 2, 32), 66), ("f16", (3, 70, 2, 64), 1), ("f16", (3, 100, 1, 128), 33)]


class Example:
    """Each matrix is a slice of rows of another width, with NaN on all sides; with `alone` it is by itself."""

    def __init__(self, name, size, rate=0.0, spread=1.0, mask=None, queries=None, alone=False):
        self.B, self.T, self.heads, self.D = B, T, heads, D = size
        self.Q = Q = queries or T
        self.name, self.alone = name, alone
        rng = np.random.default_rng(0)
        self.q, self.k, self.v, self.dcontext = (
            of_storage(scale * rng.standard_normal((B * rows, heads * D), np.float32), name)
            for scale, rows in ((spread, Q), (spread, T), (spread, T), (1.0, Q))
        )
        self.mask = masks(B, T) if mask is None else mask
        self.key = DropoutKey(seed=2**63 + 1, step=7, layer=3, site=2**40, example=5)
        self.dropout = Dropout(rate, self.key, T) if rate else None
        self.tolerance = TOLERANCE[name]

    def gpu(self, cupy):
        """context, lse, (dq, dk, dv)"""
        do, heads, dropout, lse = poisoned.kernels(), self.heads, self.dropout, (self.B, self.heads, self.Q)
        context, *gradients = (unwritten(x.shape, self.name) for x in (self.q, self.q, self.k, self.v))
        hosts = self.q, self.k, self.v, self.dcontext, context, *gradients
        slices = [Slice(cupy, x, self.name, self.alone, number) for number, x in enumerate(hosts, 1)]
        q, k, v, dcontext, context, dq, dk, dv = (x.inner for x in slices)
        mask, lse = cupy.asarray(self.mask), cupy.asarray(unwritten(lse, "f32"))
        do.attention_forward(q, k, v, mask, heads, dropout, context=context, lse=lse)
        do.attention_backward(dcontext, q, k, v, mask, heads, dropout, context, lse, dq=dq, dk=dk, dv=dv)
        for x in slices:
            x.check_margin()
        return context.get(), lse.get(), [dq.get(), dk.get(), dv.get()]

    def expected(self):
        q, k, v, dcontext = map(self.by_head, (self.q, self.k, self.v, self.dcontext))
        mask = self.mask[:, None, None, :].astype(np.float64)
        context, cache = layers.attention_forward(q, k, v, mask, self.dropout.rate if self.dropout else 0.0, self.key)
        gradients = layers.attention_backward(dcontext, cache)[:3]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.D) + mask
        return context, np.logaddexp.reduce(scores, axis=-1), gradients

    def by_head(self, x):
        """(B·Q, H) or (B·T, H) -> (B, N, Q or T, D) in float64"""
        return as_float64(x).reshape(self.B, -1, self.heads, self.D).swapaxes(1, 2)

    def check(self, cupy):
        context, lse, gradients = self.gpu(cupy)
        expected_context, expected_lse, expected_gradients = self.expected()
        for b in range(self.B):
            ours, to_be = self.by_head(context)[b], expected_context[b]
            assert np.linalg.norm(ours - to_be) <= self.tolerance * np.linalg.norm(to_be)
            masked = self.mask[b].max() < 0
            np.testing.assert_allclose(lse[b], expected_lse[b], rtol=1e-6, atol=2e-6)
            largest = max(np.linalg.norm(gradient[b]) for gradient in expected_gradients)
            for which, of, to_be in zip("qkv", map(self.by_head, gradients), expected_gradients, strict=True):
                allowed = self.tolerance + ROUNDED_LSE * masked
                assert np.linalg.norm(of[b] - to_be[b]) <= allowed * largest, (b, which)
        return context, lse, *gradients


class Slice:
    """x on the GPU in the midst of a larger array, wider by `number` on each side; rows still begin at multiples of 16
    bytes where those of x do."""

    def __init__(self, cupy, x, name, alone, number):
        rows, columns = x.shape
        self.above, self.left = (0, 0) if alone else (rows, number * (8 if columns % 8 == 0 else 1))
        whole = unwritten((rows + 2 * self.above, columns + 2 * self.left), name)
        self.middle = slice(self.above, self.above + rows), slice(self.left, self.left + columns)
        whole[self.middle] = x
        self.whole, self.name = cupy.asarray(whole), name
        self.inner = self.whole[self.middle]

    def check_margin(self):
        """Nothing was written around x."""
        whole = self.whole.get()
        whole[self.middle] = unwritten((1, 1), self.name)
        assert np.isnan(as_float64(whole)).all()


def masks(B, T):
    """Example 0 with holes, its first key kept; 1 all the same, but not 0; 2 padded at the end."""
    mask = np.zeros((B, T), np.float32)
    mask[0, 1:][np.random.default_rng(1).random(T - 1) < 0.4] = PADDING
    mask[1:2] = -10000
    mask[2:, -(-T // 3) :] = PADDING
    return mask


@pytest.mark.parametrize("rate", [0.0, RATE])
@pytest.mark.parametrize(("name", "size"), CASES)
def test_attention_and_its_gradients(gpu, monkeypatch, name, size, rate):
    monkeypatch.setattr(CpuKernel, "order", 2)
    Example(name, size, rate).check(gpu)


@pytest.mark.parametrize("rate", [0.0, RATE])
@pytest.mark.parametrize(("name", "size", "queries"), FEWER)
def test_fewer_queries_than_keys(gpu, monkeypatch, name, size, queries, rate):
    monkeypatch.setattr(CpuKernel, "order", 2)
    Example(name, size, rate, queries=queries).check(gpu)


@pytest.mark.parametrize(("name", "size"), [("f32", (3, 70, 2, 20)), ("bf16", (3, 150, 2, 64))])
def test_queries_of_some_rows_are_those_of_all(gpu, name, size):
    """Contexts and lse to the last bit: a query's sums are its own."""
    everything, some = Example(name, size), Example(name, size, queries=3)
    chosen = np.array([0, 3, size[1] - 1])
    rows = (size[1] * np.arange(size[0])[:, None] + chosen).ravel()
    some.q, some.k, some.v = everything.q[rows], everything.k, everything.v
    (all_context, all_lse, _), (context, lse, _) = everything.gpu(gpu), some.gpu(gpu)
    np.testing.assert_array_equal(context, all_context[rows])
    np.testing.assert_array_equal(lse, all_lse[:, :, chosen])


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize(
    ("name", "size", "queries"),
    [("f32", (2, 70, 1, 20), 70), ("bf16", (2, 150, 1, 64), 150), ("bf16", (2, 150, 1, 64), 20),
     ("f16", (1, 70, 1, 128), 70)],
)  # fmt: skip
def test_the_order_of_threads_does_not_matter(gpu, monkeypatch, name, size, queries, order):
    results = []
    for number in (2, order):
        monkeypatch.setattr(CpuKernel, "order", number)
        results.append(Example(name, size, RATE, queries=queries).check(gpu))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_a_mask_that_is_the_same_everywhere_changes_no_probability(gpu):
    """To the last bit, whatever a mask of -10000 leaves of a score's digits."""
    name, size = "f32", (1, 100, 2, 20)
    padded = Example(name, size, mask=np.full((1, 100), -10000, np.float32)).gpu(gpu)
    free = Example(name, size, mask=np.zeros((1, 100), np.float32)).gpu(gpu)
    assert np.array_equal(padded[0], free[0])
    np.testing.assert_allclose(padded[1] + 10000, free[1], atol=ROUNDED_LSE)


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_large_scores(gpu, name):
    """Scores of some 200: exp(200) is beyond float32. A score's 24 bits leave the probabilities 2⁻²⁴ · 200 or so, 10⁻⁵.

    Nearly all goes to one key: dprobs and delta are nearly equal, and the error that delta has from context's rounding
    stands out in their difference. bf16 has 2⁻⁶ for that.
    """
    example = Example(name, (3, 100, 1, 20 if name == "f32" else 64), spread=8.0)
    example.tolerance = max(4 * example.tolerance, 2e-5)
    _, lse, *_ = example.check(gpu)
    assert lse.max() > 150


@pytest.mark.parametrize(("name", "spread"), [("f32", 1e3), ("f32", 1e15), ("bf16", 1e15), ("f16", 1e3)])
def test_padding_has_no_weight_whatever_the_size_of_the_scores(gpu, name, spread):
    """A mask of all but one key, in the second tile: each query takes that key's value, and nothing else."""
    example = Example(name, (1, 100, 1, 20 if name == "f32" else 64), spread=spread)
    example.mask[:] = PADDING
    example.mask[0, 70] = 0
    context, _, (_, dk, dv) = example.gpu(gpu)
    np.testing.assert_array_equal(context, np.broadcast_to(example.v[70], context.shape))
    assert not np.delete(as_float64(dv), 70, axis=0).any()
    assert not np.delete(as_float64(dk), 70, axis=0).any()


@pytest.mark.parametrize("name", NAMES)
def test_what_lies_behind_the_last_key_is_not_looked_at(gpu, name):
    """NaN there stays out of context and gradients, but for the rows that are NaN themselves."""
    example = Example(name, (1, 100, 1, 20 if name == "f32" else 64))
    example.mask[:, 50:] = PADDING
    before = example.check(gpu)
    example.k[50:] = example.v[50:] = unwritten((1, 1), name)
    context, lse, gradients = example.gpu(gpu)
    for one, other in zip(before, (context, lse, *gradients), strict=True):
        assert np.array_equal(one, other)


def test_the_key_is_read_from_memory(gpu):
    """So that a captured step may be replayed as the next one."""
    example = Example("f32", (1, 33, 1, 20), RATE)
    here, there = example.key, example.key.at(step=8, example=1)
    context, lse = gpu.asarray(np.empty_like(example.q)), gpu.asarray(np.empty((1, 1, 33), np.float32))
    inputs, do = map(gpu.asarray, (example.q, example.k, example.v, example.mask)), poisoned.kernels()
    do.write_key(there)
    do.written_key = here.seed, here.step, here.example  # as while a step is replayed that was captured with this key
    do.attention_forward(*inputs, 1, Dropout(RATE, here, 33), context=context, lse=lse)
    example.key = there
    np.testing.assert_allclose(example.by_head(context.get()), example.expected()[0], atol=1e-6)


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


CHECKED = """
import sys
import cpu_module, fake_cupy
module = cpu_module.CpuModule
class Changed(module):
    def __init__(self, code, flags):
        super().__init__(code.replace({right!r}, {wrong!r}), (*flags, *{flags!r}))
cpu_module.CpuModule, sys.modules["cupy"] = Changed, fake_cupy
import test_attention
for name, size, queries in {cases!r}:
    for alone in (True, False):
        test_attention.Example(name, size, 0.1, queries=queries, alone=alone).check(fake_cupy)
"""
SIMPLE_CASES = [("f32", (2, 70, 2, 20), 35), ("f32", (2, 33, 1, 20), None)]
TENSOR_CORE_CASES = [("bf16", (2, 70, 2, 64), 66), ("f16", (1, 150, 2, 32), 129), ("bf16", (2, 70, 1, 64), None)]
both_kernels = pytest.mark.parametrize("cases", [SIMPLE_CASES, TENSOR_CORE_CASES], ids=["simple", "tensor cores"])


def each_of(mistakes):
    """A test for each row of a table, which is called by the row's name."""
    return pytest.mark.parametrize(("cases", "right", "wrong"), mistakes.values(), ids=mistakes)


def checked(cases, right="", wrong="", flags=("-O0",), **environment):
    """An interpreter of its own checks these examples by kernels in which `right` is replaced."""
    path = os.pathsep.join(map(str, (KERNELS.parents[2], HERE, HERE.parent)))
    command = [sys.executable, "-c", CHECKED.format(right=right, wrong=wrong, flags=flags, cases=cases)]
    environment = os.environ | {"PYTHONPATH": path} | environment
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def sanitized(*given, flags=SANITIZERS):
    """The same under the address and undefined-behaviour sanitizers, or under those of `flags`."""
    libasan = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not os.path.isabs(library := libasan.stdout.strip()):
        pytest.skip("g++ has no libasan")
    return checked(*given, flags=flags, LD_PRELOAD=library, ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.slow
@both_kernels
def test_memory(cases):
    result = sanitized(cases)
    assert result.returncode == 0, result.stderr


# name: the cases that must then fail, and what is replaced, in every kernel that has it
TOO_MANY = {
    "rows written": (SIMPLE_CASES, "if (row < Q) {", "if (row <= Q) {"),
    "queries read by a block that owns them": (SIMPLE_CASES, "q, blockIdx.x * ROWS, Q)", "q, blockIdx.x * ROWS, T)"),
    "queries read by a block that meets them": (SIMPLE_CASES, "q, first, Q)", "q, first, T)"),
    "queries copied": (TENSOR_CORE_CASES, "q, blockIdx.x * ROWS, Q)", "q, blockIdx.x * ROWS, T)"),
    "gradients copied": (TENSOR_CORE_CASES, "dcontext, query, Q)", "dcontext, query, T)"),
    "rows of delta": (SIMPLE_CASES, "delta += (static_cast<long long>(b) * N + n) * Q",
                      "delta += (static_cast<long long>(b) * N + n) * T"),
}  # fmt: skip


@pytest.mark.slow
@each_of(TOO_MANY)
def test_a_row_too_many_is_seen(cases, right, wrong):
    result = sanitized(cases[:1], right, wrong, flags=("-O1", "-fsanitize=address"))
    assert result.returncode != 0
    assert "ERROR: AddressSanitizer: heap-" in result.stderr


MISTAKES = {
    "blocks of the dropout mask counted for T queries": (SIMPLE_CASES, "1LL * N * Q * T", "1LL * N * T * T"),
    "heads of the dropout mask T queries apart": (SIMPLE_CASES, "(1LL * n * Q + query)", "(1LL * n * T + query)"),
    "rows of the dropout mask Q keys apart": (SIMPLE_CASES, "Q + query) * T + key", "Q + query) * Q + key"),
    "slices taken for dense": (SIMPLE_CASES, "return first + i * stride;", "return first + i * gridDim.y * D;"),
    "examples of q T rows apart": (TENSOR_CORE_CASES, "all_q.head(b, n, Q)", "all_q.head(b, n, T)"),
    "examples of k Q rows apart": (TENSOR_CORE_CASES, "all_k.head(b, n, T)", "all_k.head(b, n, Q)"),
    "examples of dv Q rows apart": (TENSOR_CORE_CASES, "all_dv.head(b, n, T)", "all_dv.head(b, n, Q)"),
    "v by k's rows": (TENSOR_CORE_CASES, "{v, v_stride}", "{v, k_stride}"),
    "dq by q's rows": (TENSOR_CORE_CASES, "{dq, dq_stride}", "{dq, q_stride}"),
    "dk by k's rows": (SIMPLE_CASES, "{dk, dk_stride}", "{dk, k_stride}"),
    "lse of T queries": (TENSOR_CORE_CASES, "lse += (static_cast<long long>(b) * N + n) * Q",
                         "lse += (static_cast<long long>(b) * N + n) * T"),
    "as many rows stored as there are keys": (TENSOR_CORE_CASES, "query, Q, sums", "query, T, sums"),
    "only as many rows of dk stored as there are queries": (TENSOR_CORE_CASES, "key, T, dk", "key, Q, dk"),
    "keys meet the first tile of queries alone": (TENSOR_CORE_CASES, "query + COLUMNS < Q) fetch", "false) fetch"),
}  # fmt: skip


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_planted_mistake_is_caught(cases, right, wrong):
    assert any(right in path.read_text(encoding="utf-8") for path in KERNELS.glob("attention*"))
    result = checked(cases[:1], right, wrong)
    assert result.returncode != 0
    assert "does not compile" not in result.stderr


@pytest.mark.slow
@both_kernels
def test_without_a_mistake_nothing_is_caught(cases):
    assert checked(cases[:1]).returncode == 0
