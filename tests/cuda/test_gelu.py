"""gelu.cu, by way of Kernels, against the layer in float64."""

import numpy as np
import poisoned
import pytest
from cpu_module import CpuKernel
from fingerprint import fingerprint
from storage import NAMES, TOLERANCE, as_float64, of_storage, unwritten

from minalbert.layers import GELU

FORMS = ("tanh", "erf")


def example(name, rows, columns, spread=2.0):
    rng = np.random.default_rng(rows + columns)
    u, dy = (of_storage(scale * rng.standard_normal((rows, columns), np.float32), name) for scale in (spread, 1.0))
    bias, dbias = (rng.standard_normal(columns, np.float32) for _ in range(2))
    return u, dy, bias, dbias


def expected(u, dy, bias, form):
    forward, backward = GELU[form]
    y, cache = forward(as_float64(u) + bias)
    (du,) = backward(as_float64(dy), cache)
    return y, du


def forward(gpu, u, bias, form, name):
    y = gpu.asarray(unwritten(u.shape, name))
    poisoned.kernels().gelu_forward(u, bias, form, out=y)
    return y.get()


# The storage's rounding, and where it is fine some roundings of float32 (6e-8) of x and 1 ± 1, with x up to 10.
def assert_close(x, expected, name):
    np.testing.assert_allclose(as_float64(x), expected, rtol=TOLERANCE[name], atol=2e-6)


@pytest.mark.parametrize("size", poisoned.SIZES, ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_both_ways(gpu, monkeypatch, name, form, size):
    monkeypatch.setattr(CpuKernel, "order", size[0] % 3)
    u, dy, bias, dbias = example(name, *size)
    y, du = expected(u, dy, bias, form)
    ours = [gpu.asarray(x) for x in (dy, u, bias, dbias)]
    assert_close(forward(gpu, ours[1], ours[2], form, name), y, name)
    np.testing.assert_array_equal(ours[1].get(), u)

    poisoned.kernels().gelu_backward(*ours[:3], form, dbias=ours[3])
    assert_close(ours[0].get(), du, name)
    assert_close(ours[1].get(), y, name)
    # the sum is of float32 before it is rounded: 37 numbers of size 1 and their roundings
    np.testing.assert_allclose(ours[3].get(), dbias + du.sum(0), rtol=1e-6, atol=2e-5)


def test_more_rows_than_threads(gpu, monkeypatch):
    """Each thread walks on to further rows."""
    monkeypatch.setattr("minalbert.kernels.gpu.tiles.BLOCKS", 2)
    u, dy, bias, dbias = example("f32", 70, 100)
    y, du = expected(u, dy, bias, "tanh")
    ours = [gpu.asarray(x) for x in (dy, u, bias, dbias)]
    assert_close(forward(gpu, ours[1], ours[2], "tanh", "f32"), y, "f32")
    poisoned.kernels().gelu_backward(*ours[:3], "tanh", dbias=ours[3])
    assert_close(ours[0].get(), du, "f32")
    np.testing.assert_allclose(ours[3].get(), dbias + du.sum(0), rtol=1e-6, atol=4e-5)


@pytest.mark.parametrize("form", FORMS)
def test_far_out(gpu, form):
    """Nothing overflows: y is x or 0, the slope 1 or 0."""
    x = np.array([[-1e4, -300.0, -30.0, -12.0, 0.0, 12.0, 30.0, 300.0, 1e4]], np.float32)
    arrays = [gpu.asarray(a) for a in (np.ones_like(x), x, np.zeros(9, np.float32), np.zeros(9, np.float32))]
    poisoned.kernels().gelu_backward(*arrays[:3], form, dbias=arrays[3])
    np.testing.assert_allclose(arrays[1].get(), np.maximum(x, 0), atol=1e-20)
    np.testing.assert_allclose(arrays[0].get(), np.where(x == 0, 0.5, x > 0), atol=1e-20)


def test_the_tail_keeps_its_digits(gpu):
    """s is 1 / (1 + exp(-2v)), not ½ (1 + tanh v): y at -4 is 2.5e-4 less than nothing, to seven digits."""
    x = np.linspace(-4.5, -3, 64, dtype=np.float32)[None]
    y = forward(gpu, gpu.asarray(x), gpu.asarray(np.zeros(64, np.float32)), "tanh", "f32")
    exact, _ = GELU["tanh"][0](x.astype(np.float64))
    # exp(16) makes eight times its argument's rounding of 6e-8
    np.testing.assert_allclose(y, exact, rtol=3e-6)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_lie_anywhere(gpu, name):
    u, dy, bias, dbias = example(name, 7, 64)
    y, du = expected(u, dy, bias, "tanh")
    ours = [poisoned.shifted(gpu, x) for x in (dy, u, bias, dbias)]
    poisoned.kernels().gelu_backward(*ours[:3], "tanh", dbias=ours[3])
    assert_close(ours[0].get(), du, name)
    assert_close(ours[1].get(), y, name)


def test_the_order_of_threads_changes_no_bit(gpu, monkeypatch):
    results = []
    for order in range(4):
        monkeypatch.setattr(CpuKernel, "order", order)
        u, dy, bias, dbias = map(gpu.asarray, example("f32", 37, 300))
        poisoned.kernels().gelu_backward(dy, u, bias, "tanh", dbias=dbias)
        results.append([fingerprint(x) for x in (dy, u, dbias)])
    assert results == results[:1] * 4


def test_no_rows(gpu):
    """The partial sums of nothing are not added."""
    u, dy, bias, dbias = map(gpu.asarray, example("f32", 0, 8))
    before = dbias.get().copy()
    do = poisoned.kernels()
    do.gelu_forward(u, bias, "tanh", out=dy)
    do.gelu_backward(dy, u, bias, "tanh", dbias=dbias)
    np.testing.assert_array_equal(dbias.get(), before)


def test_what_does_not_fit_is_refused(gpu):
    u, dy, bias, _ = map(gpu.asarray, example("f32", 3, 8))
    do = poisoned.kernels()
    with pytest.raises(ValueError, match="do not belong together"):
        do.gelu_forward(u, bias[:7], "tanh", out=dy)
    with pytest.raises(TypeError, match="bias is float64; it must be float32"):
        do.gelu_forward(u, gpu.asarray(bias.get().astype(np.float64)), "tanh", out=dy)
    with pytest.raises(TypeError, match=r"instance for each of float32, uint16, float16 \(of bf16\), not for float64"):
        do.gelu_forward(gpu.asarray(u.get().astype(np.float64)), bias, "tanh", out=dy)
