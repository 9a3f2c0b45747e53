"""norm.cu, by way of Kernels, against the layers in float64."""

import numpy as np
import poisoned
import pytest
from cpu_module import CpuKernel
from fingerprint import fingerprint
from storage import NAMES, TOLERANCE, as_float64, of_storage, unwritten

from minalbert.backend import DropoutKey, dropout_mask
from minalbert.kernels import Dropout
from minalbert.layers import layer_norm_backward, layer_norm_forward

EPS = 1e-12
KEY = DropoutKey(seed=2**63 + 1, step=7, layer=3, site=2**40, example=5)
# beside the usual ones the first that two warps hold, the widest, odd ones, and several examples of several rows
SIZES = [*poisoned.SIZES, (7, 769), (12, 1024), (3, 2049), (3, 4096), (6, 100)]


def vectors(rng, columns, count):
    return [rng.standard_normal(columns, np.float32) for _ in range(count)]


def dropout_for(rows, rate=0.3):
    """Examples of several rows where they divide so."""
    return Dropout(rate, KEY, next(length for length in (3, 7, 37, 1) if rows % length == 0))


def factors(rows, columns, dropout):
    """0 or 1 / P(keep), by backend.dropout_mask."""
    if dropout is None:
        return 1.0
    keep, scale = dropout_mask(np.empty((rows // dropout.length, dropout.length, columns)), dropout.rate, dropout.key)
    return keep.reshape(rows, columns) * scale


class Forward:
    def __init__(self, name, rows, columns, shift=0.0):
        rng = np.random.default_rng(rows + columns)
        self.name, self.shape = name, (rows, columns)
        h, residual = rng.standard_normal((2, rows, columns), np.float32) + np.float32(shift)
        self.h, self.residual = of_storage(h, name), of_storage(residual, name)
        self.linear_bias, self.gain, self.bias = vectors(rng, columns, 3)

    def ours(self, gpu, dropout=None, plain=False, array=None):
        array = array or gpu.asarray
        h, gain, bias = map(array, (self.h, self.gain, self.bias))
        linear_bias, residual = (None, None) if plain else map(array, (self.linear_bias, self.residual))
        y, rstd = array(unwritten(self.shape, self.name)), gpu.asarray(unwritten(self.shape[0], "f32"))
        before = {"linear_bias": linear_bias, "residual": residual, "dropout": dropout}
        do, again = poisoned.kernels(), array(unwritten(self.shape, self.name))
        do.norm_forward(h, gain, bias, EPS, **before, out=y, rstd=rstd)
        do.norm_output(h, gain, bias, out=again)
        np.testing.assert_array_equal(again.get(), y.get())
        return h.get(), y.get(), rstd.get()

    def expected(self, dropout=None, plain=False):
        z = as_float64(self.h)
        if not plain:
            z = (z + self.linear_bias) * factors(*self.shape, dropout) + as_float64(self.residual)
        y, (xhat, rstd, _) = layer_norm_forward(z, self.gain.astype(np.float64), self.bias.astype(np.float64), EPS)
        return xhat, y, rstd[:, 0]

    def assert_close(self, ours, expected, atol=4e-6):
        """The storage's rounding; before it sums of float32 over a row, and numbers up to 10 of 6e-8 each."""
        xhat, y, rstd = ours
        np.testing.assert_allclose(as_float64(xhat), expected[0], rtol=TOLERANCE[self.name], atol=atol)
        of_stored = as_float64(xhat) * self.gain + self.bias  # which differs by the rounding of xhat
        np.testing.assert_allclose(as_float64(y), of_stored, rtol=TOLERANCE[self.name], atol=2 * atol)
        np.testing.assert_allclose(rstd, expected[2], rtol=max(atol, 2e-6))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_forward(gpu, monkeypatch, name, size):
    monkeypatch.setattr(CpuKernel, "order", size[0] % 3)
    example = Forward(name, *size)
    dropout = dropout_for(size[0])
    example.assert_close(example.ours(gpu, dropout), example.expected(dropout))
    example.assert_close(example.ours(gpu), example.expected())
    example.assert_close(example.ours(gpu, plain=True), example.expected(plain=True))


def test_a_mean_far_from_zero(gpu):
    """The mean is taken off before anything is squared: E[z²] - E[z]² would have lost all digits."""
    example = Forward("f32", 3, 768, shift=1000.0)
    # the mean is near 1000, where float32 goes in steps of 6e-5; xhat and y, up to 10, are as far off as that
    example.assert_close(example.ours(gpu, plain=True), example.expected(plain=True), atol=2e-4)


@pytest.mark.parametrize("columns", [5, 48, 100, 768, 1000])
@pytest.mark.parametrize("rate", [1e-9, 0.1, 0.999999])
def test_the_mask_is_the_backends(gpu, rate, columns):
    """z is dropout(1) alone: xhat takes one value where it was kept, another where not."""
    rows = 6
    dropout = Dropout(rate, KEY, 3)
    h, gain, bias = np.ones((rows, columns), np.float32), np.ones(columns, np.float32), np.zeros(columns, np.float32)
    arrays = [gpu.asarray(x) for x in (h, gain, bias, unwritten(h.shape, "f32"), unwritten(rows, "f32"))]
    *inputs, out, rstd = arrays
    poisoned.kernels().norm_forward(*inputs, EPS, dropout=dropout, out=out, rstd=rstd)
    z = factors(rows, columns, dropout)
    xhat = arrays[0].get()
    for row, expected in zip(xhat, z, strict=True):
        middle = expected.mean()
        np.testing.assert_array_equal(row > 0, expected > middle)


class Backward:
    def __init__(self, name, rows, columns):
        rng = np.random.default_rng(rows + columns)
        self.name, self.shape = name, (rows, columns)
        self.dy, self.xhat = (of_storage(x, name) for x in rng.standard_normal((2, rows, columns), np.float32))
        self.rstd = rng.uniform(0.5, 2.0, rows).astype(np.float32)
        self.gain, *self.sums = vectors(rng, columns, 4)

    def ours(self, gpu, dropout=None, bias=True, array=None):
        """dz, dh, dgain, dbias, dlinear_bias"""
        array = array or gpu.asarray
        dy, xhat, gain = map(array, (self.dy, self.xhat, self.gain))
        rstd, sums = gpu.asarray(self.rstd), [array(x) for x in self.sums]
        dh = array(unwritten(self.shape, self.name)) if dropout else None
        dgain, dbias, dlinear_bias = sums
        outputs = {"dgain": dgain, "dbias": dbias, "dlinear_bias": dlinear_bias if bias else None, "dh": dh}
        poisoned.kernels().norm_backward(dy, xhat, rstd, gain, dropout=dropout, **outputs)
        np.testing.assert_array_equal(xhat.get(), self.xhat)
        return [dy.get(), dh.get() if dropout else None, *(x.get() for x in sums)]

    def expected(self, dropout=None, bias=True):
        dy, xhat = as_float64(self.dy), as_float64(self.xhat)
        cache = xhat, self.rstd[:, None].astype(np.float64), self.gain.astype(np.float64)
        dz, dgain, dbias = layer_norm_backward(dy, cache)
        dh = dz * factors(*self.shape, dropout)
        sums = [x + added for x, added in zip(self.sums, (dgain, dbias, dh.sum(0) * bias), strict=True)]
        return dz, dh, *sums

    def assert_close(self, ours, expected):
        # the storage's rounding; before it sums of float32 over a row, and differences of numbers up to 30
        for x, exact in zip(ours[:2], expected[:2], strict=True):
            if x is not None:
                np.testing.assert_allclose(as_float64(x), exact, rtol=TOLERANCE[self.name], atol=1e-5)
        # sums of float32 over up to 37 numbers of size 1 to 10, taken before they are rounded for storage
        for x, exact in zip(ours[2:], expected[2:], strict=True):
            np.testing.assert_allclose(x, exact, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_backward(gpu, monkeypatch, name, size):
    monkeypatch.setattr(CpuKernel, "order", size[0] % 3)
    example = Backward(name, *size)
    dropout = dropout_for(size[0])
    example.assert_close(example.ours(gpu, dropout), example.expected(dropout))
    example.assert_close(example.ours(gpu), example.expected())
    example.assert_close(example.ours(gpu, bias=False), example.expected(bias=False))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_lie_anywhere(gpu, name):
    dropout = dropout_for(7)
    forward, backward = Forward(name, 7, 64), Backward(name, 7, 64)

    def shifted(x):
        return poisoned.shifted(gpu, x)

    forward.assert_close(forward.ours(gpu, dropout, array=shifted), forward.expected(dropout))
    backward.assert_close(backward.ours(gpu, dropout, array=shifted), backward.expected(dropout))


def test_more_rows_than_teams(gpu, monkeypatch):
    """Each block walks on to further rows, and adds up what it found."""
    monkeypatch.setattr("minalbert.kernels.gpu.norm.BLOCKS", 2)
    for columns in (40, 800):
        example = Backward("f32", 37, columns)
        example.assert_close(example.ours(gpu, dropout_for(37)), example.expected(dropout_for(37)))


@pytest.mark.parametrize("columns", [40, 1600])
def test_the_order_of_threads_changes_no_bit(gpu, monkeypatch, columns):
    results = []
    for order in range(4):
        monkeypatch.setattr(CpuKernel, "order", order)
        forward, backward = Forward("f32", 37, columns), Backward("f32", 37, columns)
        results.append([fingerprint(x) for x in (*forward.ours(gpu), *backward.ours(gpu, dropout_for(37)))])
    assert results == results[:1] * 4


def test_no_rows(gpu):
    forward, backward = Forward("f32", 0, 8), Backward("f32", 0, 8)
    forward.ours(gpu)
    for before, after in zip(backward.sums, backward.ours(gpu)[2:], strict=True):
        np.testing.assert_array_equal(before, after)


def test_what_does_not_fit_is_refused(gpu):
    with pytest.raises(ValueError, match="rows of 4097 numbers do not fit the GPU's norm, which takes 1 to 4096"):
        Forward("f32", 2, 4097).ours(gpu)
    for rate in (-0.1, 1.0):
        with pytest.raises(ValueError, match="at least 0 and less than 1"):
            Forward("f32", 3, 8).ours(gpu, dropout_for(3, rate))
    example = Forward("f32", 3, 8)
    example.gain = example.gain[:7]
    with pytest.raises(ValueError, match="do not belong together"):
        example.ours(gpu)
