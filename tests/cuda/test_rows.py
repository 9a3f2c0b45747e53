"""rows.cu, by way of Kernels, and what Kernels makes of the other files for words."""

import inspect
import os
import subprocess
import sys

import numpy as np
import poisoned
import pytest
from cpu_module import HERE, KERNELS, SANITIZERS, CpuKernel
from fingerprint import fingerprint
from storage import NAMES, TOLERANCE, as_float64, of_storage, unwritten

from minalbert import layers
from minalbert.backend import DropoutKey, dropout_mask
from minalbert.kernels import Dropout, cpu
from minalbert.kernels.gpu import Kernels
from minalbert.kernels.gpu.gemm import Gemm

KEY = DropoutKey(seed=3, step=4, layer=5, site=6, example=7)


def example(name, rows, columns, seed=0):
    return of_storage(np.random.default_rng(seed).standard_normal((rows, columns), np.float32), name)


def vector(columns, seed=1):
    return np.random.default_rng(seed).standard_normal(columns, np.float32)


@pytest.mark.parametrize("size", poisoned.SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_bias_and_sums(gpu, monkeypatch, name, size):
    monkeypatch.setattr(CpuKernel, "order", size[0] % 3)
    host, bias, sums = example(name, *size), vector(size[1]), vector(size[1], 2)
    x, ours = gpu.asarray(host), gpu.asarray(sums)
    do = poisoned.kernels()
    do.column_sums(x, out=ours)
    # 37 numbers of size 1 in float32
    np.testing.assert_allclose(ours.get(), sums + as_float64(host).sum(0), rtol=1e-6, atol=1e-5)
    do.add_bias(x, gpu.asarray(bias))
    # one sum of float32, and the storage's rounding
    np.testing.assert_allclose(as_float64(x.get()), as_float64(host) + bias, rtol=TOLERANCE[name], atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("wide", "start", "stop"), [(48, 16, 32), (48, 3, 19), (21, 8, 16), (100, 50, 100)])
def test_slices_of_wider_rows(gpu, name, wide, start, stop):
    host, bias = example(name, 21, wide), vector(stop - start)
    x, sums = gpu.asarray(host), gpu.asarray(bias)
    third = x[:, start:stop]
    do = poisoned.kernels()
    do.column_sums(third, out=sums)
    np.testing.assert_allclose(sums.get(), bias + as_float64(host[:, start:stop]).sum(0), rtol=1e-6, atol=1e-5)
    do.add_bias(third, gpu.asarray(bias))
    expected = as_float64(host)
    expected[:, start:stop] += bias
    np.testing.assert_allclose(as_float64(x.get()), expected, rtol=TOLERANCE[name], atol=1e-7)


def test_columns_that_are_not_dense_are_refused(gpu):
    x = gpu.asarray(example("f32", 6, 8))
    with pytest.raises(ValueError, match="are not dense"):
        poisoned.kernels().add_bias(x[:, ::2], gpu.asarray(vector(4)))


def test_more_rows_than_threads(gpu, monkeypatch):
    """Each thread walks on to further rows."""
    monkeypatch.setattr("minalbert.kernels.gpu.tiles.BLOCKS", 2)
    host, bias, do = example("f32", 70, 40), vector(40), poisoned.kernels()
    x, sums = gpu.asarray(host), gpu.asarray(bias)
    do.column_sums(x, out=sums)
    np.testing.assert_allclose(sums.get(), bias + host.sum(0, dtype=np.float64), rtol=1e-6, atol=2e-5)
    do.add_bias(x, gpu.asarray(bias))
    np.testing.assert_allclose(x.get(), host + bias, rtol=1e-6, atol=1e-7)
    out, rows = gpu.asarray(unwritten((70, 40), "f32")), np.arange(70)[::-1].copy()
    do.take(x, gpu.asarray(rows), out=out)
    np.testing.assert_array_equal(out.get(), x.get()[rows])
    do.drop(x, Dropout(0.5, KEY, 35))
    keep, _ = dropout_mask(np.empty((2, 35, 40)), 0.5, KEY)
    np.testing.assert_array_equal(x.get() != 0, keep.reshape(70, 40))


def test_sums_of_many_blocks(gpu, monkeypatch):
    """More partial sums than the last kernel has threads for them, in any order the same bits."""
    results = []
    for order in range(4):
        monkeypatch.setattr(CpuKernel, "order", order)
        host = example("f32", 8 * 70, 40)
        sums = gpu.asarray(np.zeros(40, np.float32))
        poisoned.kernels().column_sums(gpu.asarray(host), out=sums)
        results.append(fingerprint(sums))
        # 560 numbers of size 1, in groups of eight and of 32
        np.testing.assert_allclose(sums.get(), host.sum(0, dtype=np.float64), rtol=1e-6, atol=3e-5)
    assert results == results[:1] * 4


@pytest.mark.parametrize("rate", [1e-9, 0.1, 0.5, 0.999999])
@pytest.mark.parametrize("columns", [1, 5, 16, 100, 768])
@pytest.mark.parametrize("length", [1, 3, 6])
def test_drop_samples_the_backends_mask(gpu, length, columns, rate):
    rows = 6
    x = gpu.asarray(np.ones((rows, columns), np.float32))
    poisoned.kernels().drop(x, Dropout(rate, KEY, length))
    keep, scale = dropout_mask(np.empty((rows // length, length, columns)), rate, KEY)
    np.testing.assert_array_equal(x.get(), keep.reshape(rows, columns) * np.float32(scale))


def test_the_mask_follows_the_key(gpu):
    """One Kernels, several keys: what it remembers of the last one does not stick."""
    do = poisoned.kernels()
    do.drop(gpu.asarray(np.ones((2, 2), np.float32)), None)
    for key in (KEY, KEY.at(step=9), KEY.at(layer=1), KEY.at(example=8), KEY):
        x = gpu.asarray(np.ones((4, 40), np.float32))
        do.drop(x, Dropout(0.5, key, 4))
        keep, scale = dropout_mask(np.empty((1, 4, 40)), 0.5, key)
        np.testing.assert_array_equal(x.get(), keep[0] * np.float32(scale))


@pytest.mark.parametrize("columns", [1, 5, 64, 300])
@pytest.mark.parametrize("name", NAMES)
def test_take(gpu, name, columns):
    host, rows = example(name, 20, columns), np.array([3, 19, 0, 3, 7], np.int64)
    out = gpu.asarray(unwritten((5, columns), name))
    poisoned.kernels().take(gpu.asarray(host), gpu.asarray(rows), out=out)
    np.testing.assert_array_equal(out.get(), host[rows])

    wide = gpu.asarray(unwritten((5, columns), "f32"))
    poisoned.kernels().take(gpu.asarray(host), gpu.asarray(rows), out=wide)
    np.testing.assert_array_equal(wide.get(), as_float64(host)[rows])
    x = gpu.asarray(host)
    poisoned.kernels().add_rows(wide[:3], gpu.asarray(rows[:3]), out=x)
    exact = as_float64(host)
    exact[rows[:3]] *= 2  # the updates are the rows themselves: no rounding
    np.testing.assert_array_equal(as_float64(x.get()), exact)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("columns", [1, 5, 64, 300])
@pytest.mark.parametrize("name", NAMES)
def test_add_rows_adds_all_that_name_a_row(gpu, monkeypatch, name, columns, order):
    monkeypatch.setattr(CpuKernel, "order", order)
    rows = np.random.default_rng(0).integers(0, 12, 80)  # most of them several times, over several warps
    rows[:3] = 15, 16, 17  # and some once
    host, updates = example(name, 20, columns), example(name, 80, columns, 1)
    x = gpu.asarray(host)
    poisoned.kernels().add_rows(gpu.asarray(updates), gpu.asarray(rows), out=x)
    expected = as_float64(host)
    np.add.at(expected, rows, as_float64(updates))
    # rounded for storage after each of up to fifteen sums, which go up to 12
    np.testing.assert_allclose(as_float64(x.get()), expected, rtol=TOLERANCE[name], atol=60 * TOLERANCE[name])


def test_nothing_of_nothing(gpu):
    x, none = gpu.asarray(example("f32", 3, 8)), gpu.asarray(np.zeros((0, 8), np.float32))
    sums, rows = gpu.asarray(np.zeros(8, np.float32)), gpu.asarray(np.zeros(0, np.int64))
    do = poisoned.kernels()
    do.add_bias(none, sums)
    do.column_sums(none, out=sums)
    do.drop(none, Dropout(0.5, KEY, 1))
    do.take(x, rows, out=none)
    do.add_rows(none, rows, out=x)
    np.testing.assert_array_equal(sums.get(), 0)
    np.testing.assert_array_equal(x.get(), example("f32", 3, 8))


# ------------------------------------------------------------------------------------------------------ words

V, M, KINDS = 23, 50, 2


@pytest.mark.parametrize("size", [(1, 1, 1), (3, 7, 33), (5, 40, 16)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_embeddings(gpu, name, size):
    B, T, E = size
    rng = np.random.default_rng(0)
    ids, types = rng.integers(0, V, (B, T)), rng.integers(0, KINDS, (B, T))
    tables, grads = ([rng.standard_normal((rows, E), np.float32) for rows in (V, M, KINDS)] for _ in range(2))
    dy = example(name, B * T, E)
    do, y = poisoned.kernels(), gpu.asarray(unwritten((B * T, E), name))
    do.embedding_forward(*map(gpu.asarray, (ids, types, *tables)), out=y)
    exact, cache = layers.embedding_forward(ids, types, *(table.astype(np.float64) for table in tables))
    # two sums of float32, then the storage's rounding
    np.testing.assert_allclose(as_float64(y.get()), exact.reshape(-1, E), rtol=TOLERANCE[name], atol=1e-6)

    ours = [gpu.asarray(grad) for grad in grads]
    dword, dposition, dtoken_type = ours
    dtables = {"dword": dword, "dposition": dposition, "dtoken_type": dtoken_type}
    do.embedding_backward(*map(gpu.asarray, (dy, ids, types)), **dtables)
    added = layers.embedding_backward(as_float64(dy).reshape(B, T, E), cache)[2:]
    for found, before, exact in zip(ours, grads, added, strict=True):
        # float32 sums of up to 100 numbers of size 1
        np.testing.assert_allclose(found.get(), before + exact, rtol=1e-6, atol=2e-5)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 127, 128, 129, 500])
def test_places_are_sorted_by_word(gpu, monkeypatch, count, order):
    """As a stable sort does it, for words that are many and few."""
    monkeypatch.setattr(CpuKernel, "order", order)
    from minalbert.kernels.gpu.launch import launch

    for words in (1, 9, 2**40):
        ids = np.random.default_rng(count).integers(0, words, count)
        found = gpu.asarray(np.full(count, -1, np.int32))
        launch(("rows.cu", "sort_places"), (-(-count // 128),), (128,), gpu.asarray(ids), found, count)
        np.testing.assert_array_equal(found.get(), ids.argsort(kind="stable"))


@pytest.mark.parametrize("logits", [2**29, 64])  # all words at once; eight or so at a time
@pytest.mark.parametrize("name", NAMES)
def test_cross_entropy(gpu, monkeypatch, name, logits):
    monkeypatch.setattr("minalbert.kernels.gpu.cross_entropy.LOGITS", logits)
    K, E = 7, 16
    rng = np.random.default_rng(0)
    x, table = example(name, K, E), example(name, V, E, 1)
    bias, labels = vector(V), rng.integers(0, V, K)
    shares = (rng.random(K) / K).astype(np.float32)
    dtable, dbias = rng.standard_normal((V, E), np.float32), vector(V, 2)
    do = poisoned.kernels()
    given = [gpu.asarray(a) for a in (x, table, bias, labels)]
    lse, losses = (gpu.asarray(unwritten(K, "f32")) for _ in range(2))
    do.cross_entropy_forward(*given, lse=lse, losses=losses)
    outputs = [gpu.asarray(a) for a in (unwritten((K, E), name), dtable, dbias)]
    names = ("dx", "dtable", "dbias")
    do.cross_entropy_backward(*given, gpu.asarray(shares), lse, **dict(zip(names, outputs, strict=True)))

    # The float64 mathematics. The logits, up to 15, are rounded for storage, so a probability is off by as much.
    exact_x, exact_table = as_float64(x), as_float64(table)
    each = exact_x @ exact_table.T + bias
    exact_lse = np.log(np.exp(each).sum(1))
    step = 15 * TOLERANCE[name]
    np.testing.assert_allclose(lse.get(), exact_lse, atol=step)
    np.testing.assert_allclose(losses.get(), exact_lse - each[np.arange(K), labels], atol=2 * step)
    dlogits = (np.exp(each - exact_lse[:, None]) - np.eye(V)[labels]) * shares[:, None]
    # a row of dx has probabilities that sum to one, a row of the table K of them, times numbers up to 3
    np.testing.assert_allclose(as_float64(outputs[0].get()), dlogits @ exact_table, atol=3 * step * shares.max())
    np.testing.assert_allclose(outputs[1].get(), dtable + dlogits.T @ exact_x, atol=3 * step * shares.sum())
    np.testing.assert_allclose(outputs[2].get(), dbias + dlogits.sum(0), atol=step * shares.sum())


def test_the_names_and_arguments_are_the_cpus():
    for name, kernel in cpu.KERNELS._asdict().items():
        if callable(kernel) and not name.startswith("sparse_attention"):
            ours = inspect.signature(Gemm.__call__ if name == "gemm" else getattr(Kernels, name))
            first, *others = ours.parameters.values()
            assert first.name in ("self", "gpu")
            assert others == list(inspect.signature(kernel).parameters.values()), name


# ----------------------------------------------------------------------------------------------------- memory

SANITIZED = """
import sys
import cpu_module, fake_cupy
module = cpu_module.CpuModule
class Sanitized(module):
    def __init__(self, code, flags):
        super().__init__(code.replace(*{replaced!r}), (*flags, *{flags!r}))
cpu_module.CpuModule, sys.modules["cupy"] = Sanitized, fake_cupy
import numpy as np
import poisoned, test_gelu, test_norm, test_rows
do, gpu = poisoned.kernels(), fake_cupy.asarray
for name, columns in {sizes!r}:
    u, dy, bias, dbias = map(gpu, test_gelu.example(name, 7, columns))
    do.drop(poisoned.shifted(fake_cupy, u.get()), test_norm.dropout_for(7))
    do.column_sums(u, out=dbias)
    do.add_bias(u[:, 1:], bias[1:])
    do.gelu_forward(u, bias, "erf", out=gpu(u.get()))
    do.gelu_backward(dy, u, bias, "tanh", dbias=dbias)
    test_norm.Forward(name, 7, columns).ours(fake_cupy, test_norm.dropout_for(7))
    test_norm.Backward(name, 7, columns).ours(fake_cupy, test_norm.dropout_for(7))
    rows = gpu(np.array([6, 0, 6]))
    do.take(u, rows, out=dy[:3])
    do.add_rows(dy[:3], rows, out=u)
"""


FLOATS, HALVES, MORE = ("f32", 5), ("bf16", 64), ("f16", 800)
ADDRESS, UNDEFINED = ("-O1", "-fsanitize=address"), ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replaced", "sizes", "flags", "caught"),
    [
        (("", ""), [FLOATS, HALVES, MORE], SANITIZERS, None),
        (("x[i] = i < count ?", "x[i] = i <= count ?"), [FLOATS], ADDRESS, "heap-buffer-overflow"),
        (("| ...) & 15) == 0", "| ...) & 15) >= 0"), [HALVES], UNDEFINED, "misaligned address"),
    ],
)
def test_memory(replaced, sizes, flags, caught):
    """Under the address and undefined-behaviour sanitizers; a number too many is seen, and a shifted 16 bytes."""
    libasan = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    if not os.path.isabs(library := libasan.stdout.strip()):
        pytest.skip("g++ has no libasan")
    path = os.pathsep.join(map(str, (KERNELS.parents[2], HERE, HERE.parent)))
    environment = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": path}
    command = [sys.executable, "-c", SANITIZED.format(replaced=replaced, sizes=sizes, flags=flags)]
    result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if caught is None:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode != 0
        assert caught in result.stderr
