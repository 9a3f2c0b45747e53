"""The product in bf16 against one in float64, of inputs that NumPy has rounded by arithmetic instead of bits."""

import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from minalbert.errors import DeviceError
from minalbert.kernels.cpu import bf16

needs_bf16 = pytest.mark.skipif(bf16.missing() is not None, reason=f"no bf16 here: {bf16.missing()}")

LAYOUTS = {  # a matrix of the same numbers, otherwise in memory
    "plain": lambda x: x.copy(),
    "transposed": lambda x: x.T.copy().T,
    "padded": lambda x: padded(x),
    "transposed padded": lambda x: padded(x.T).T,
}
SIZES = [(1, 1, 1), (1, 64, 65), (64, 65, 1), (3, 1, 2), (2, 3, 1), (33, 71, 47), (17, 1025, 3), (130, 769, 131)]


def padded(x):
    wide = np.full((x.shape[0] + 1, x.shape[1] + 5), 12345 if x.dtype == np.uint16 else np.nan, x.dtype)
    wide[:-1, 2:-3] = x
    return wide[:-1, 2:-3]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def nearest(x):
    """r(x) in float64: x = m 2ᵉ with ½ ≤ |m| < 1, so 8 significant bits are those of 256 m before the point."""
    m, e = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(256 * m), e - 8)


def values(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)


def assert_product(out, a, b, before=0.0):
    """A product of two bf16 numbers is exact in float32, so only the K + 1 sums round, each by 2⁻²⁴ of at most
    Σ|a||b| + |before|, in whatever order they are made. Rounding an input otherwise shows: it is worth 2⁻⁹."""
    a, b = nearest(a), nearest(b)
    bound = (a.shape[1] + 1) * 2.0**-24 * (abs(a) @ abs(b) + abs(before))
    assert np.all(abs(out - (before + a @ b)) <= bound)


@needs_bf16
@pytest.mark.parametrize("a_layout", LAYOUTS)
@pytest.mark.parametrize("b_layout", LAYOUTS)
@pytest.mark.parametrize("out_layout", ["plain", "padded"])
def test_every_layout(a_layout, b_layout, out_layout):
    a, b = LAYOUTS[a_layout](normal(33, 71)), LAYOUTS[b_layout](normal(71, 47, seed=1))
    out = LAYOUTS[out_layout](np.full((33, 47), np.nan, np.float32))
    whole = out if out.base is None else out.base
    a_before, b_before = a.copy(), b.copy()

    bf16.gemm(a, b, out=out)
    assert_product(out, a, b)
    first = out.copy()
    bf16.gemm(a, b, out=out, add=True)
    assert_product(out, a, b, first)
    assert np.isfinite(whole).sum() == out.size  # nothing was written beside it
    assert np.array_equal(a, a_before)
    assert np.array_equal(b, b_before)


@needs_bf16
@pytest.mark.parametrize(("M", "K", "N"), SIZES)
def test_every_size(M, K, N):
    for a_layout, b_layout in itertools.product(LAYOUTS, repeat=2):
        a, b = LAYOUTS[a_layout](normal(M, K)), LAYOUTS[b_layout](normal(K, N, seed=1))
        before = normal(M, N, seed=2)
        out = before.copy()
        bf16.gemm(a, b, out=out)
        assert_product(out, a, b)
        out = before.copy()
        bf16.gemm(a, b, out=out, add=True)
        assert_product(out, a, b, before)


@needs_bf16
def test_one_row_or_column_however_it_was_cut():
    x, y = normal(9, 9), normal(1, 4)
    for column in (x[:, 3:4], x[:, 3, None], x[3, :, None], x.T[3, :, None]):
        out = np.empty((9, 4), np.float32)
        bf16.gemm(column, y, out=out)
        assert_product(out, column, y)
        bf16.gemm(y.T, column.T, out=out.reshape(4, 9))
        assert_product(out.reshape(4, 9), y.T, column.T)
        line, one = np.empty(9, np.float32), np.ones((1, 1), np.float32)
        bf16.gemm(column, one, out=line[:, None])
        assert_product(line[:, None], column, one)
        bf16.gemm(one, column.T, out=line[None])
        assert_product(line[None], one, column.T)


@needs_bf16
@pytest.mark.parametrize(("M", "K", "N"), [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_no_numbers_sum_to_zero(M, K, N):
    out = normal(M, N)
    before = out.copy()
    bf16.gemm(normal(M, K), normal(K, N), out=out, add=True)
    assert np.array_equal(out, before)
    bf16.gemm(normal(M, K), normal(K, N), out=out)
    assert not out.any()


@needs_bf16
def test_rounded_is_the_nearest_and_even_between_two():
    ties = np.arange(2**15, 2**15 + 2**9, dtype=np.uint32) << 15  # every second lies midway
    beside = np.concatenate([ties - 1, ties, ties + 1]).view(np.float32)
    spread = (normal(40_000) * np.exp2(np.random.default_rng(3).uniform(-100, 100, 40_000))).astype(np.float32)
    x = np.concatenate([beside, -beside, spread, [0.0, np.inf, -np.inf]]).astype(np.float32)[None]
    assert np.array_equal(values(bf16.rounded(x)), nearest(x))
    assert not values(bf16.rounded(np.array([[2.0**-127, -(2.0**-149)]], np.float32))).any()


@needs_bf16
def test_what_is_no_number_stays_so():
    nans = np.array([[0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001]], np.uint32).view(np.float32)
    assert np.isnan(values(bf16.rounded(nans))).all()
    out = np.zeros((1, 1), np.float32)
    bf16.gemm(np.array([[np.inf, 1.0]], np.float32), np.ones((2, 1), np.float32), out=out)
    assert out == np.inf
    bf16.gemm(nans[:, :2], np.ones((2, 1), np.float32), out=out)
    assert np.isnan(out)


@needs_bf16
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rounded_beforehand_is_the_same(layout):
    a, b = LAYOUTS[layout](normal(33, 71)), LAYOUTS[layout](normal(71, 47, seed=1))
    expected, out = np.empty((2, 33, 47), np.float32)
    bf16.gemm(a, b, out=expected)
    a_halves, b_halves = LAYOUTS[layout](np.zeros_like(a, np.uint16)), LAYOUTS[layout](np.zeros_like(b, np.uint16))
    assert bf16.rounded(a, out=a_halves) is a_halves
    assert bf16.rounded(b, out=b_halves) is b_halves
    for left, right in itertools.product((a, a_halves, bf16.rounded(a)), (b, b_halves, bf16.rounded(b))):
        bf16.gemm(left, right, out=out)
        assert np.array_equal(out, expected)


@needs_bf16
def test_rounding_fills_padded_rows_and_nothing_beside_them():
    x = normal(5, 7)
    out = padded(np.zeros((5, 7), np.uint16))
    bf16.rounded(x, out=out)
    assert np.array_equal(values(out.copy()), nearest(x))
    assert (out.base == 12345).sum() == out.base.size - out.size


@needs_bf16
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, ">f4"])
def test_other_dtypes_are_refused(dtype):
    x, other = normal(4, 4), np.zeros((4, 4), dtype)
    for arguments in ((x, x, other), (other, x, x.copy()), (x, other, x.copy())):
        with pytest.raises(TypeError, match="takes and fills float32"):
            bf16.gemm(*arguments[:2], out=arguments[2])
    with pytest.raises(TypeError, match="cannot round"):
        bf16.rounded(other)
    with pytest.raises(TypeError, match="takes and fills float32"):
        bf16.gemm(x, x, out=np.zeros((4, 4), np.uint16))
    with pytest.raises(TypeError, match="cannot round"):
        bf16.rounded(x, out=other)


@needs_bf16
def test_shapes_that_do_not_fit_are_refused():
    fits = ((2, 3), (3, 4), (2, 4))
    for place, wrong in itertools.product(range(3), [(2, 5), (5, 3), (5, 4), (3, 2), (2, 3, 1), (7,)]):
        shapes = [wrong if place == i else shape for i, shape in enumerate(fits)]
        a, b, out = (np.zeros(shape, np.float32) for shape in shapes)
        with pytest.raises(ValueError, match="does not fit"):
            bf16.gemm(a, b, out=out)
    with pytest.raises(TypeError, match="cannot round"):
        bf16.rounded(normal(3, 4), out=np.empty((4, 3), np.uint16))


@needs_bf16
@pytest.mark.parametrize("view", [
    lambda x: x[::2, ::2], lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: np.broadcast_to(x[0], x.shape),
    lambda x: np.lib.stride_tricks.as_strided(x, (3, 3), (34, 4)),
])  # fmt: skip
def test_other_strides_are_refused(view):
    x = view(normal(8, 8))
    y, out = normal(x.shape[1], x.shape[1]), np.zeros(x.shape, np.float32)
    with pytest.raises(ValueError, match="neither its rows nor its columns are dense"):
        bf16.gemm(x, y, out=out)
    with pytest.raises(ValueError, match="neither its rows nor its columns are dense"):
        bf16.gemm(x.T, np.zeros((len(x), 2), np.float32), out=np.zeros((x.shape[1], 2), np.float32))
    with pytest.raises(ValueError, match="its rows dense"):
        bf16.gemm(out, y, out=x)


@needs_bf16
def test_an_out_that_cannot_be_filled_is_refused():
    x, out = normal(4, 4), np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="its rows dense"):
        bf16.gemm(x, x, out=out.T)
    with pytest.raises(ValueError, match="in memory as x is"):
        bf16.rounded(x, out=np.empty((4, 4), np.uint16).T)
    halves = bf16.rounded(x)
    for array in (out, halves):
        array.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        bf16.gemm(x, x, out=out)
    with pytest.raises(ValueError, match="writable"):
        bf16.rounded(x, out=halves)
    assert not out.any()


@needs_bf16
def test_threads_may_call_at_once():
    inputs = [(normal(M, 200, seed=M), normal(200, 150, seed=M + 1)) for M in range(100, 108)]

    def work(pair):
        out = np.zeros((len(pair[0]), 150), np.float32)
        for _ in range(20):
            bf16.gemm(*pair, out=out, add=True)
        return out

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(8) as pool:
        together = list(pool.map(work, inputs))
        for pair, out in zip(inputs, together, strict=True):
            assert np.array_equal(out, work(pair))


@needs_bf16
@pytest.mark.parametrize("count", [1, 2])
def test_a_call_uses_as_many_threads_as_blas_may(count):
    x, out = normal(64, 64), np.empty((64, 64), np.float32)

    def used():
        bf16.rounded(x)
        assert bf16._library().omp_get_max_threads() == 1
        bf16.gemm(x, x, out=out)
        return bf16._library().omp_get_max_threads()

    with threadpool_limits(count, user_api="blas"), ThreadPoolExecutor(1) as pool:
        possible = min(count, os.cpu_count())
        assert used() == possible
        assert pool.submit(used).result() == possible


@needs_bf16
@pytest.mark.parametrize("function", ["dnnl_gemm_bf16bf16f32", "dnnl_primitive_execute", "dnnl_stream_wait"])
def test_what_the_library_refuses_is_no_result(monkeypatch, function):
    monkeypatch.setattr(bf16._library(), function, lambda *arguments: 3)
    with pytest.raises(DeviceError, match="its status is 3"):
        bf16.gemm(normal(2, 2), normal(2, 2), out=normal(2, 2))


@needs_bf16
def test_what_is_made_is_destroyed(monkeypatch):
    library, balance = bf16._library(), []

    class Counting:
        def __getattr__(self, name):
            return getattr(library, name)

        def __getitem__(self, name):
            balance.append(-1 if name.endswith("_destroy") else 1)
            return library[name]

    monkeypatch.setattr(bf16, "_library", Counting)
    bf16.rounded(normal(3, 4))
    assert len(balance) == 14
    assert sum(balance) == 0


@pytest.fixture
def forgotten():
    """The library has not been loaded yet, and will be loaded afresh afterwards."""
    bf16._library.cache_clear()
    yield
    bf16._library.cache_clear()


def refused():
    x = normal(2, 2)
    with pytest.raises(DeviceError) as refusal:
        bf16.gemm(x, x, out=x.copy())
    assert str(refusal.value) == bf16.missing()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("files", [None, []])
def test_without_the_wheel_it_says_what_to_install(monkeypatch, files):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent if files is None else lambda name: files)
    assert "pip install 'minalbert[bf16]'" in refused()


@pytest.mark.usefixtures("forgotten")
def test_a_library_that_does_not_load_is_named(monkeypatch, tmp_path):
    (tmp_path / bf16.FILE).write_text("no library")
    broken = metadata.PackagePath(bf16.FILE)
    broken.dist = metadata.PathDistribution(tmp_path / "of.dist-info")
    monkeypatch.setattr(metadata, "files", lambda name: [broken])
    assert "oneDNN cannot be loaded" in refused()


@needs_bf16
def test_a_processor_without_bf16_is_refused():
    program = "from minalbert.kernels.cpu.bf16 import missing; print(missing())"
    run = subprocess.run([sys.executable, "-c", program], env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"},
                         capture_output=True, text=True, check=True)  # fmt: skip
    assert "this processor has no instructions for bf16" in run.stdout
