"""lamb.cu, by way of GpuLamb, against optim.Lamb."""

import numpy as np
import pytest
from cpu_module import CpuKernel
from fingerprint import fingerprint
from storage import of_storage

from minalbert.backend import to_host
from minalbert.errors import ConfigError
from minalbert.kernels.gpu.lamb import GpuLamb
from minalbert.optim import Lamb, Moments, clip_factor, global_norm
from minalbert.params import Params, size_of

# matrices of one chunk of 64, of several and a rest, of exactly two; exempt vectors; a tensor of one number
SHAPES = {"a.w": (7, 9), "a.b": (9,), "b.w": (31, 7), "c.gain": (200,), "d.w": (16, 8), "e.w": (1, 1), "f.w": (3, 5)}
CHUNK = 64
SETTINGS = {
    "ALBERT's": Lamb(),
    "bias correction": Lamb(bias_correction=True),
    "clamp": Lamb(clamp=0.01, weight_decay=0.1),
    "no decay": Lamb(weight_decay=0.0, betas=(0.8, 0.95), eps=1e-3),
}


def vector(rng, scale=1.0):
    return Params((rng.standard_normal(size_of(SHAPES)) * scale).astype(np.float32), SHAPES)


def start():
    """Weights and moments; one tensor of zeros, whose norm gives no ratio."""
    rng = np.random.default_rng(0)
    params = vector(rng, 0.05)
    params["d.w"][...] = 0.0
    return rng, params, Moments.zeros(params)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_steps_agree(gpu, monkeypatch, settings, order):
    monkeypatch.setattr(CpuKernel, "order", order)
    rng, params, moments = start()
    device = params.to("cuda")
    device_moments = Moments(*(moment.to("cuda") for moment in moments))
    optimiser = GpuLamb(settings, device, CHUNK)
    for t in range(1, 5):
        before, before_m, beta = params.copy(), moments.m.flat.copy(), settings.betas[0]
        grads = vector(rng, 10.0 ** (t - 3))
        if t == 3:
            grads["f.w"][...] = 0.0
        scale = 1.0 if t == 1 else clip_factor(global_norm(grads), 0.5)
        ratios = settings.step(params, grads, moments, 0.01, t, scale)
        on_device = scale if t == 1 else gpu.asarray(np.float64(scale))
        found = optimiser.step(device, grads.to("cuda"), device_moments, 0.01, t, on_device)
        assert list(found) == list(ratios)
        assert settings.clamp is None or settings.clamp in map(float, ratios.values())
        # norms: sums of squares in float64 here, partly in float32 there: a few roundings of 6e-8
        np.testing.assert_allclose([float(r) for r in found.values()], [*map(float, ratios.values())], rtol=5e-7)
        # the same arithmetic; a GPU may round a product and a sum in one, which is seen where the two terms cancel
        terms = beta * np.abs(before_m) + (1 - beta) * np.abs(float(scale) * grads.flat)
        allowed = 2e-6 * np.abs(moments.m.flat) + 2.0**-23 * terms
        assert (np.abs(to_host(device_moments.m.flat) - moments.m.flat) <= allowed).all()
        np.testing.assert_allclose(to_host(device_moments.v.flat), moments.v.flat, rtol=2e-6, atol=1e-12)
        # the step to 2e-6 of itself, and the weight's own last place
        allowed = 2e-6 * np.abs(params.flat - before.flat) + 2.0**-23 * np.abs(params.flat)
        assert (np.abs(to_host(device.flat) - params.flat) <= allowed).all()
        device.flat[...] = gpu.asarray(params.flat)  # roundings are not to add up


@pytest.mark.parametrize(("dtype", "name"), [("uint16", "bf16"), ("float16", "f16")])
def test_the_weights_in_16_bits(gpu, dtype, name):
    rng, params, _ = start()
    device, grads = params.to("cuda"), vector(rng).to("cuda")
    half = gpu.asarray(np.full(params.flat.size, 0xFFFF, np.uint16).view(dtype))
    GpuLamb(Lamb(), device, CHUNK).step(device, grads, Moments.zeros(device), 0.01, 1, half=half)
    np.testing.assert_array_equal(to_host(half), of_storage(to_host(device.flat), name))


@pytest.mark.parametrize("limit", [0.0, 0.1, 1e6])
def test_norm_and_scale(gpu, limit):
    rng, params, _ = start()
    grads = vector(rng, 1e-3)
    optimiser = GpuLamb(Lamb(), params.to("cuda"), CHUNK)
    norm, scale = optimiser.gradient_scale(Params(grads.flat * 1024, SHAPES).to("cuda"), limit, 1 / 1024)
    expected = np.sqrt(np.square(grads.flat, dtype=np.float64).sum())
    assert float(norm) == pytest.approx(expected, rel=1e-12)  # squares and sums in float64
    assert float(scale) == pytest.approx(clip_factor(expected, limit) / 1024, rel=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(gpu, bad):
    rng, params, _ = start()
    grads = vector(rng)
    grads["b.w"][3, 3] = bad
    device, moments = params.to("cuda"), Moments(vector(rng).to("cuda"), vector(rng).to("cuda"))
    before = [fingerprint(kind.flat) for kind in (device, *moments)]
    optimiser = GpuLamb(Lamb(), device, CHUNK)
    norm, scale = optimiser.gradient_scale(grads.to("cuda"), 1.0)
    optimiser.step(device, grads.to("cuda"), moments, 0.01, 1, scale)
    assert not np.isfinite(float(norm))
    assert [fingerprint(kind.flat) for kind in (device, *moments)] == before


def test_two_runs_agree_to_the_last_bit(gpu, monkeypatch):
    results = set()
    for order in range(4):
        monkeypatch.setattr(CpuKernel, "order", order)
        rng, params, _ = start()
        device = params.to("cuda")
        optimiser, moments = GpuLamb(Lamb(), device, CHUNK), Moments.zeros(device)
        for t in range(1, 4):
            grads = vector(rng).to("cuda")
            _, scale = optimiser.gradient_scale(grads, 1.0)
            optimiser.step(device, grads, moments, 0.01, t, scale)
        results.add(fingerprint(device.flat))
    assert len(results) == 1


def test_ratios_once_returned_stay(gpu):
    rng, params, _ = start()
    device = params.to("cuda")
    optimiser, moments = GpuLamb(Lamb(), device, CHUNK), Moments.zeros(device)
    first = optimiser.step(device, vector(rng).to("cuda"), moments, 0.01, 1)
    before = float(first["a.w"])
    second = optimiser.step(device, vector(rng).to("cuda"), moments, 0.01, 2)
    assert float(first["a.w"]) == before != float(second["a.w"])


def test_what_does_not_fit_is_refused(gpu):
    _, params, _ = start()
    with pytest.raises(ConfigError, match="needs float32 weights on a GPU"):
        GpuLamb(Lamb(), params)
    with pytest.raises(ConfigError, match="needs float32 weights on a GPU"):
        GpuLamb(Lamb(), params.astype("float64").to("cuda"))
    device = params.to("cuda")
    with pytest.raises(ConfigError, match="the gradients are"):
        GpuLamb(Lamb(), device).step(device, params, Moments.zeros(device), 0.01, 1)
