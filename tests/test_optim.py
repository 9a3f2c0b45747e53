"""LAMB, AdamW and clipping: against the formulas, against their own first rung, and by what must hold."""

import math
import os
import subprocess
import sys

import fake_cupy
import numpy as np
import pytest
from fingerprint import fingerprint

from minalbert import PRESETS, Params
from minalbert.errors import ConfigError, MinalbertError
from minalbert.gradcheck.cases import TINY
from minalbert.optim import AdamW, Lamb, Moments, adamw_tensor, clip_factor, exempt, first_bad, global_norm, lamb_tensor
from minalbert.optim import blocks as rooms
from minalbert.params import initialise, shapes

RATE = 0.01
ULP = {"float32": 2.0**-23, "float64": 2.0**-52}


def start(dtype="float64", device="cpu", seed=0):
    """Weights that are nowhere zero, gradients of very different sizes, moments at zero."""
    rng = np.random.default_rng(seed)
    params = Params.zeros(shapes(TINY), dtype)
    grads = params.zeros_like()
    for name, tensor in params.items():
        tensor[...] = rng.standard_normal(tensor.shape)
        grads[name][...] = rng.standard_normal(tensor.shape) * 10.0 ** rng.integers(-6, 2)
    return params.to(device), grads.to(device), Moments.zeros(params.to(device))


def one(w, g, optimiser, rate=RATE, t=1, name="w"):
    """A step of a single tensor, through the vector's door: w anew and its ratio."""
    w = np.array(w, "float64")
    params = Params(w.ravel().copy(), {name: w.shape})
    grads = Params(np.array(g, "float64").ravel(), {name: w.shape})
    ratios = optimiser.step(params, grads, Moments.zeros(params), rate, t)
    return params[name], ratios.get(name)


def steps(optimiser, number, params, grads, moments, scale=1.0):
    for t in range(1, number + 1):
        optimiser.step(params, grads, moments, RATE, t, scale)


def by_hand(optimiser, number, params, grads, scale=1.0):
    """The same steps on the first rung: name -> w, m, v."""
    function = lamb_tensor if isinstance(optimiser, Lamb) else adamw_tensor
    settings = vars(optimiser)
    result = {}
    for name, w in params.items():
        g, m, v = grads[name] * w.dtype.type(scale), np.zeros_like(w), np.zeros_like(w)
        for t in range(1, number + 1):
            w, m, v = function(w, g, m, v, RATE, t, **settings)[:3]
        result[name] = w, m, v
    return result


# The formulas, in numbers


def test_lambs_first_step_is_the_formulas():
    w, g = np.array([[3.0, -4.0]]), np.array([[0.5, 2.0]])
    u = [0.1 * x / (math.sqrt(0.001 * x * x) + 1e-6) + 0.01 * y for x, y in zip(g[0], w[0], strict=True)]
    ratio = 5.0 / math.hypot(*u)
    new, r = one(w, g, Lamb())
    assert float(r) == pytest.approx(ratio, rel=1e-14)
    np.testing.assert_allclose(new, [[3 - RATE * ratio * u[0], -4 - RATE * ratio * u[1]]], rtol=1e-14)


def test_adamws_first_step_is_the_formulas():
    new, _ = one([[3.0]], [[0.5]], AdamW())
    assert new[0, 0] == pytest.approx(3 - RATE * (0.5 / (0.5 + 1e-6) + 0.03), rel=1e-14)
    new, _ = one([[3.0]], [[0.5]], AdamW(bias_correction=False))
    assert new[0, 0] == pytest.approx(3 - RATE * (0.05 / (0.5 * math.sqrt(0.001) + 1e-6) + 0.03), rel=1e-14)


def test_epsilon_stands_outside_the_root():
    g = 1e-6  # √(0.001 g²) is 30 times smaller than ε; inside the root, ε would be 1e-3
    new, _ = one([0.0], [g], AdamW(bias_correction=False))
    assert new[0] == pytest.approx(-RATE * 1e-7 / (math.sqrt(0.001) * 1e-6 + 1e-6), rel=1e-12)
    _, r = one([[1.0]], [[g]], Lamb(weight_decay=0.0))
    assert float(r) == pytest.approx((math.sqrt(0.001) * 1e-6 + 1e-6) / 1e-7, rel=1e-12)


def test_moments_remember_as_told():
    params, grads, moments = start()
    steps(Lamb(betas=(0.8, 0.5)), 2, params, grads, moments)
    np.testing.assert_allclose(moments.m.flat, 0.36 * grads.flat, rtol=1e-14)  # 1 - 0.8²
    np.testing.assert_allclose(moments.v.flat, 0.75 * grads.flat**2, rtol=1e-14)


def test_missing_bias_correction_lengthens_the_step_at_most_6_5685_times_at_t_12():
    table = {1: 3.16, 12: 6.57, 100: 3.24, 500: 1.59, 3125: 1.02}
    params = {on: Params(np.zeros(1), {"b": (1,)}) for on in (True, False)}
    moments = {on: Moments.zeros(params[on]) for on in params}
    grads = Params(np.ones(1), {"b": (1,)})
    factors = {}
    for t in range(1, 3126):
        before = {on: float(params[on].flat[0]) for on in params}
        for on in params:
            AdamW(eps=0.0, bias_correction=on).step(params[on], grads, moments[on], 1.0, t)
        corrected, plain = (before[on] - float(params[on].flat[0]) for on in (True, False))
        factors[t] = plain / corrected
    for t, factor in table.items():
        assert factors[t] == pytest.approx(factor, abs=5e-3)
    assert factors[12] == pytest.approx(6.5685, abs=5e-5)
    assert max(factors, key=factors.get) == 12


# What must hold


def test_an_adapted_tensor_moves_by_rate_times_its_norm():
    params, grads, moments = start()
    for t in range(1, 4):
        before = params.copy()
        ratios = Lamb().step(params, grads, moments, RATE, t)
        assert len(ratios) == 13
        for name in ratios:
            moved = np.linalg.norm(params[name] - before[name])
            assert moved == pytest.approx(RATE * np.linalg.norm(before[name]), rel=1e-12), name


def test_the_thirteen_adapted_tensors_are_those_that_are_no_biases_and_no_norms():
    params = initialise(PRESETS["tiny"])
    spared = {name for name, tensor in params.items() if exempt(name, tensor)}
    assert spared == {name for name in params if name.rsplit(".", 1)[-1] in ("b", "bias", "gain")}
    assert len(params) - len(spared) == 13


@pytest.mark.parametrize("optimiser", [Lamb(), AdamW(bias_correction=False)])
def test_biases_and_norms_are_neither_decayed_nor_adapted(optimiser):
    w, g = np.array([3.0, -4.0]), np.array([0.5, 2.0])
    new, r = one(w, g, optimiser)
    np.testing.assert_allclose(new, w - RATE * 0.1 * g / (math.sqrt(0.001) * g + 1e-6), rtol=1e-14)
    assert r is None


def test_decay_is_inside_lambs_ratio_and_outside_adams_moments():
    new, r = one([[3.0, -4.0]], [[0.0, 0.0]], Lamb())
    assert float(r) == pytest.approx(100.0)  # ‖w‖ / ‖0.01 w‖
    np.testing.assert_allclose(new, [[3 * (1 - RATE), -4 * (1 - RATE)]], rtol=1e-14)
    new, _ = one([[3.0, -4.0]], [[0.0, 0.0]], AdamW())
    np.testing.assert_allclose(new, [[3 * (1 - 0.01 * RATE), -4 * (1 - 0.01 * RATE)]], rtol=1e-14)


def test_where_a_norm_is_zero_the_ratio_is_one(device):
    zero = Params(np.zeros(4), {"w": (2, 2)}).to(device)
    ones = Params(np.ones(4), {"w": (2, 2)}).to(device)
    params = zero.copy()  # ‖w‖ = 0
    ratios = Lamb().step(params, ones, Moments.zeros(zero), RATE, 1)
    assert float(ratios["w"]) == 1.0
    np.testing.assert_allclose(params.to("cpu").flat, -RATE * 0.1 / (math.sqrt(0.001) + 1e-6), rtol=1e-14)
    params = ones.copy()  # ‖u‖ = 0
    ratios = Lamb(weight_decay=0.0).step(params, zero, Moments.zeros(zero), RATE, 1)
    assert float(ratios["w"]) == 1.0
    assert (params.to("cpu").flat == 1.0).all()


def test_the_ratio_has_no_limit_unless_it_is_told_one():
    w, g = [[300.0, -400.0]], [[0.5, 2.0]]
    _, free = one(w, g, Lamb(weight_decay=0.0))
    assert float(free) == pytest.approx(500 / (math.sqrt(2) / math.sqrt(10) * 10), rel=1e-4)  # 111.8
    new, r = one(w, g, Lamb(weight_decay=0.0, clamp=10.0))
    assert float(r) == 10.0
    assert new[0, 0] == pytest.approx(300 - RATE * 10 * math.sqrt(10), rel=1e-6)
    assert lamb_tensor(np.array(w), np.array(g), 0.0, 0.0, RATE, weight_decay=0.0, clamp=10.0)[3] == 10.0
    _, small = one([[0.3, 0.4]], g, Lamb(weight_decay=0.0, clamp=10.0))
    assert float(small) == pytest.approx(0.5 / math.sqrt(20), rel=1e-4)


# The two rungs


@pytest.mark.parametrize("block", [7, 65536])
@pytest.mark.parametrize("scale", [1.0, 0.37])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "optimiser",
    [
        AdamW(),
        AdamW(bias_correction=False, weight_decay=0.0),
        Lamb(),
        Lamb(bias_correction=True, clamp=0.5),
        Lamb(betas=(0.7, 0.9), eps=1e-3, weight_decay=0.0),
    ],
    ids=str,
)
def test_both_rungs_agree_bit_by_bit_and_adapted_tensors_to_a_few_ulp(optimiser, dtype, scale, block, monkeypatch):
    monkeypatch.setattr(rooms, "BLOCK", block)
    params, grads, moments = start(dtype)
    expected = by_hand(optimiser, 5, params, grads, scale)
    steps(optimiser, 5, params, grads, moments, scale)
    for name, (w, m, v) in expected.items():
        np.testing.assert_array_equal(moments.m[name], m, err_msg=name)
        np.testing.assert_array_equal(moments.v[name], v, err_msg=name)
        if isinstance(optimiser, AdamW) or exempt(name, w):
            np.testing.assert_array_equal(params[name], w, err_msg=name)
        else:
            np.testing.assert_allclose(params[name], w, rtol=0, atol=8 * ULP[dtype] * np.abs(w).max(), err_msg=name)


def test_short_neighbours_form_a_run_and_a_long_tensor_is_one(monkeypatch):
    monkeypatch.setattr(rooms, "BLOCK", 7)
    params = Params.zeros({"a": (2, 2), "b": (3,), "long": (3, 5), "c": (6,), "d": (2,), "e": (5,)})
    found = [(place, [*parts]) for place, parts in rooms.runs(params)]
    assert found == [(slice(0, 7), ["a", "b"]), (slice(7, 22), ["long"]), (slice(22, 28), ["c"]),
                     (slice(28, 35), ["d", "e"])]  # fmt: skip
    for names, expected in (("a d long e", ["a", "long", "d e"]), ("b", ["b"]), ("", [])):
        assert [" ".join(parts) for _, parts in rooms.runs(params, names.split())] == expected
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    assert [[*parts] for _, parts in rooms.runs(params.to("cuda"))] == [[name] for name in params]


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_in_one_run_have_the_bits_of_tensors_that_are_stepped_alone(optimiser, dtype):
    params, grads, moments = start(dtype)
    twin, twins, ratios = params.copy(), Moments.zeros(params), {}
    for t in range(1, 4):
        together = optimiser.step(params, grads, moments, RATE, t)
        for name in twin:
            ratios |= optimiser.step(twin, grads, twins, RATE, t, only=[name])
        assert together == ratios
    for now, alone in zip((params, *moments), (twin, *twins), strict=True):
        np.testing.assert_array_equal(now.flat, alone.flat)


def test_the_first_rung_changes_nothing_it_is_given():
    params, grads, _ = start()
    w, g = params["pooler.w"], grads["pooler.w"]
    m, v = np.full_like(w, 0.1), np.full_like(w, 0.2)
    copies = [x.copy() for x in (w, g, m, v)]
    adamw_tensor(w, g, m, v, RATE)
    lamb_tensor(w, g, m, v, RATE)
    for x, copy in zip((w, g, m, v), copies, strict=True):
        np.testing.assert_array_equal(x, copy)


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb()])
def test_gradients_are_left_as_they_were(optimiser):
    params, grads, moments = start("float32")
    before, old = grads.copy(), params.copy()
    steps(optimiser, 2, params, grads, moments, scale=0.5)
    np.testing.assert_array_equal(grads.flat, before.flat)
    assert (params.flat != old.flat).mean() > 0.99
    assert params.dtype == moments.m.dtype == moments.v.dtype == np.float32


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb()])
def test_a_device_makes_the_hosts_steps(optimiser, device):
    results = []
    for place in ("cpu", device):
        params, grads, moments = start("float32", place)
        for t in range(1, 4):
            scale = clip_factor(global_norm(grads), 1.0)
            ratios = optimiser.step(params, grads, moments, RATE, t, scale)
        results.append([x.to("cpu").flat for x in (params, *moments)])
        assert all(rooms.array_module(r) is rooms.array_module(params.flat) for r in ratios.values())
    for host, there in zip(*results, strict=True):
        np.testing.assert_allclose(there, host, rtol=0, atol=1e-6 * np.abs(host).max())


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb(clamp=10.0)])
def test_a_step_never_waits_for_the_device(optimiser, monkeypatch):
    def waits(self):
        raise AssertionError("a number was fetched from the device")

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    params, grads, moments = start("float32", "cuda")
    for way in ("__float__", "__bool__", "__int__", "get"):
        monkeypatch.setattr(fake_cupy.ndarray, way, waits)
    before = params.flat.copy()
    optimiser.step(params, grads, moments, RATE, 1, clip_factor(global_norm(grads), 1.0))
    monkeypatch.undo()
    assert not np.array_equal(params.flat._host, before._host)


STEP = """
import hashlib
import numpy as np
from minalbert import Params
from minalbert.optim import Lamb, Moments, clip_factor, global_norm

rng = np.random.default_rng(0)
table = {"w": (700, 300), "b": (50_000,)}
for dtype in ("float32", "float64"):                 # in float64 BLAS's own sums differ with its threads
    params, grads = (Params(rng.standard_normal(260_000).astype(dtype), table) for _ in range(2))
    norm = global_norm(grads)
    ratios = Lamb().step(params, grads, Moments.zeros(params), 0.01, 1, clip_factor(norm, 1.0))
    print(hashlib.sha256(params.flat.tobytes()).hexdigest(), float(norm), float(ratios["w"]))
"""


def test_no_bit_depends_on_how_many_threads_blas_has():
    said = set()
    for threads in ("1", "2", "3"):
        environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        result = subprocess.run(
            [sys.executable, "-c", STEP], env=environment, capture_output=True, encoding="utf-8", check=True
        )
        said.add(result.stdout.strip())
    assert len(said) == 1
    assert len(said.pop().split()) == 6


# Clipping


def test_the_global_norm_is_the_root_of_all_squares(device):
    for dtype, limit in (("float32", 1e-7), ("float64", 1e-14)):
        _, grads, _ = start(dtype)
        exact = math.sqrt(math.fsum(float(x) ** 2 for x in grads.flat))
        assert float(global_norm(grads.to(device))) == pytest.approx(exact, rel=limit)
    long = Params(np.full(100_001, 3.0, "float32"), {"w": (100_001,)})
    assert float(global_norm(long.to(device))) == pytest.approx(3 * math.sqrt(100_001), rel=1e-12)


def test_squares_beyond_float32_are_still_summed(device):
    grads = Params(np.full(5000, 1e30, "float32"), {"w": (5000,)}).to(device)
    assert float(global_norm(grads)) == pytest.approx(1e30 * math.sqrt(5000), rel=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_gradient_shows_in_the_norm_and_is_named(bad, device):
    _, grads, _ = start("float32")
    assert first_bad(grads.to(device)) is None
    grads["encoder.ffn.up.w"][1, 2] = bad
    grads["mlm.bias"][0] = bad
    assert not math.isfinite(float(global_norm(grads.to(device))))
    assert first_bad(grads.to(device)) == "encoder.ffn.up.w"


def test_clipping_shortens_what_is_too_long_and_nothing_else():
    assert clip_factor(np.float64(4.0), 1.0) == 0.25
    assert clip_factor(np.float64(0.5), 1.0) == 1.0
    assert clip_factor(np.float64(0.0), 1.0) == 1.0
    assert clip_factor(np.float64(4.0), 0) == 1.0  # no limit
    assert math.isnan(clip_factor(np.float64(math.nan), 1.0))


def test_a_scaled_step_is_a_step_of_the_scaled_gradient():
    params, grads, moments = start("float32")
    twin, twins = params.copy(), Moments.zeros(params)
    factor = clip_factor(global_norm(grads), 1.0)
    assert 0 < factor < 0.1
    Lamb().step(params, grads, moments, RATE, 1, factor)
    grads.flat *= np.float32(factor)
    assert float(global_norm(grads)) == pytest.approx(1.0, rel=1e-6)
    Lamb().step(twin, grads, twins, RATE, 1)
    np.testing.assert_array_equal(params.flat, twin.flat)
    np.testing.assert_array_equal(moments.v.flat, twins.v.flat)


# Refusals


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"betas": (0.9, 1.0)}, r"betas is \(0.9, 1.0\); it must be two numbers, each at least 0 and less than 1"),
        ({"betas": 0.9}, "betas is 0.9; it must be two numbers"),
        ({"eps": -1e-6}, "eps is -1e-06; it must be a number, at least 0"),
        ({"weight_decay": math.nan}, "weight_decay is nan; it must be a number, at least 0"),
        ({"bias_correction": "no"}, "bias_correction is 'no'; it must be True or False"),
    ],
)
@pytest.mark.parametrize("kind", [AdamW, Lamb])
def test_a_setting_that_cannot_be_is_refused(kind, settings, said):
    with pytest.raises(ConfigError, match=said):
        kind(**settings)


@pytest.mark.parametrize("clamp", [0, -1.0, True, math.inf])
def test_a_clamp_is_above_zero(clamp):
    with pytest.raises(ConfigError, match="it must be a number above 0, or None for no limit"):
        Lamb(clamp=clamp)


def test_arrays_that_do_not_fit_are_refused():
    params, grads, moments = start("float32")
    half = initialise(TINY, dtype="float16")
    with pytest.raises(ConfigError, match="the weights are float16; an optimiser needs float32 or float64"):
        Lamb().step(half, half, Moments.zeros(half), RATE, 1)
    with pytest.raises(ConfigError, match=r"the gradients are .*float64.*; to fit the weights they must be .*float32"):
        AdamW().step(params, grads.astype("float64"), moments, RATE, 1)
    other = Params.zeros(shapes(TINY, ("mlm",)))
    with pytest.raises(ConfigError, match="the second moments are Params"):
        Lamb().step(params, grads, Moments(moments.m, other), RATE, 1)
    with pytest.raises(ConfigError, match="t is 0; it must be a whole number, at least 1"):
        Lamb().step(params, grads, moments, RATE, 0)


# Some of the tensors


@pytest.mark.parametrize("optimiser", [Lamb(weight_decay=0.5), AdamW(weight_decay=0.5)], ids=lambda o: type(o).__name__)
def test_only_some_tensors_are_stepped_and_the_others_keep_every_bit(optimiser, device):
    params, grads, moments = start("float32", device)
    steps(optimiser, 2, params, grads, moments)  # moments that are not zero
    everything = [x.copy() for x in (params, *moments)]
    before = [x.copy() for x in (params, *moments)]
    optimiser.step(everything[0], grads, Moments(*everything[1:]), RATE, 3)
    only = params.select("embeddings.", "sop.").names
    ratios = optimiser.step(params, grads, moments, RATE, 3, only=only)
    assert ratios.keys() <= set(only)
    for now, old, stepped in zip((params, *moments), before, everything, strict=True):
        for name in params:
            expected = stepped if name in only else old
            assert fingerprint(now[name]) == fingerprint(expected[name]), name
            assert name not in only or fingerprint(now[name]) != fingerprint(old[name]), name


@pytest.mark.parametrize("optimiser", [Lamb(), AdamW()], ids=lambda o: type(o).__name__)
def test_names_to_step_are_checked(optimiser):
    params, grads, moments = start()
    before = params.copy()
    for only, sentence in (("sop.b", "a collection of names"), (["sop.bb"], "did you mean 'sop.b'")):
        with pytest.raises(MinalbertError, match=sentence):
            optimiser.step(params, grads, moments, RATE, 1, only=only)
    optimiser.step(params, grads, moments, RATE, 1, only=())
    np.testing.assert_array_equal(params.flat, before.flat)
    assert not moments.m.flat.any()
