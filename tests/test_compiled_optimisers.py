"""AdamW's and LAMB's compiled twins: against the formulas, against `optim`, on any number of threads, and in a run."""

import math
import os
import signal

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed (pip install 'minalbert[fast]')")

from fingerprint import fingerprint
from small_run import StopAt, computed, small_settings, train
from test_optim import RATE, ULP, by_hand, start, steps

from minalbert import Params
from minalbert.errors import ConfigError, MinalbertError
from minalbert.fused import optimiser_for
from minalbert.kernels.compiled import optimisers
from minalbert.kernels.compiled.optimisers import CompiledAdamW, CompiledLamb
from minalbert.optim import AdamW, Lamb, Moments
from minalbert.train import assemble

SETTINGS = [
    AdamW(), AdamW(bias_correction=False, weight_decay=0.0), AdamW(betas=(0.7, 0.9), eps=1e-3, weight_decay=0.5),
    Lamb(), Lamb(bias_correction=True, clamp=0.5), Lamb(betas=(0.7, 0.9), eps=1e-3, weight_decay=0.5),
]  # fmt: skip
BOTH = pytest.mark.parametrize("optimiser", [AdamW(), Lamb()], ids=lambda optimiser: type(optimiser).__name__)


def compiled(optimiser, params, threads=1):
    return optimiser_for(optimiser, params, "compiled", threads)


def bits(params, moments):
    return [fingerprint(x.flat) for x in (params, *moments)]


@pytest.fixture(params=[None, 7], ids=["chunks", "small chunks"])
def _chunks(request, monkeypatch):
    """So small, in the second round, that tensors are cut into many, and the last of each is a rest."""
    if request.param:
        monkeypatch.setattr(optimisers, "CHUNK", request.param)


@pytest.mark.parametrize("scale", [1.0, 0.37])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimiser", SETTINGS, ids=str)
@pytest.mark.usefixtures("_chunks")
def test_steps_are_the_formulas_to_a_few_ulp(optimiser, dtype, scale):
    params, grads, moments = start(dtype)
    expected = by_hand(optimiser, 5, params, grads, scale)
    steps(compiled(optimiser, params), 5, params, grads, moments, scale)
    for name, (w, m, v) in expected.items():
        np.testing.assert_allclose(moments.m[name], m, rtol=8 * ULP[dtype], err_msg=name)
        np.testing.assert_allclose(moments.v[name], v, rtol=8 * ULP[dtype], err_msg=name)
        np.testing.assert_allclose(params[name], w, rtol=0, atol=8 * ULP[dtype] * np.abs(w).max(), err_msg=name)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system limits no process's cores")
def test_as_many_threads_as_the_process_may_use_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5})
    assert CompiledAdamW(AdamW(), start("float32")[0]).threads == 1
    assert CompiledAdamW(AdamW(), start("float32")[0], threads=3).threads == 3


@pytest.mark.parametrize("optimiser", SETTINGS, ids=str)
def test_ratios_are_those_of_the_twin(optimiser):
    found = []
    for step in (optimiser.step, compiled(optimiser, start()[0]).step):
        params, grads, moments = start()
        found.append(step(params, grads, moments, RATE, 1, np.float64(0.5)))
    assert list(found[0]) == list(found[1])
    assert len(found[0]) == (13 if isinstance(optimiser, Lamb) else 0)
    for name, ratio in found[0].items():
        assert float(found[1][name]) == pytest.approx(float(ratio), rel=1e-13), name


@BOTH
@pytest.mark.usefixtures("_chunks")
def test_the_number_of_threads_changes_no_bit(optimiser, monkeypatch):
    monkeypatch.setattr(optimisers, "WORTH_A_THREAD", 100)
    found = []
    for threads in (1, 2, 3, 5):
        params, grads, moments = start("float32")
        twin = compiled(optimiser, params, threads)
        steps(twin, 3, params, grads, moments, 0.37)
        found.append(bits(params, moments))
    assert found[1:] == found[:-1]


def test_ranges_are_shared_among_threads_where_there_is_enough_for_them(monkeypatch):
    params, *_ = start()
    ranges, weights = [], params.flat.size
    for worth, threads, count in ((weights // 3, 9, 3), (weights // 3, 2, 2), (weights + 1, 9, 1)):
        monkeypatch.setattr(optimisers, "WORTH_A_THREAD", worth)
        twin, ranges = CompiledAdamW(AdamW(), params, threads), []
        twin.share(lambda *part, ranges=ranges: ranges.append(part), twin.chunks)
        firsts, lasts = zip(*sorted(ranges), strict=True)
        assert len(ranges) == count
        assert firsts == (0, *lasts[:-1])
        assert lasts[-1] == len(twin.chunks.start)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork")  # of other libraries with threads, in the same process
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(optimisers, "WORTH_A_THREAD", 100)
    params, grads, moments = start()
    twin = compiled(Lamb(), params, 2)
    twin.step(params, grads, moments, RATE, 1)
    child = os.fork()
    if not child:
        signal.alarm(8)  # threads of the parent would be waited for for ever
        twin.step(params, grads, moments, RATE, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_where_a_norm_is_zero_the_ratio_is_one():
    zero, ones = (Params(np.full(4, x), {"w": (2, 2)}) for x in (0.0, 1.0))
    for w, g, settings in ((zero, ones, Lamb()), (ones, zero, Lamb(weight_decay=0.0))):
        params = w.copy()
        assert compiled(settings, params).step(params, g, Moments.zeros(params), RATE, 1) == {"w": 1.0}
    assert (params.flat == 1.0).all()


def test_squares_beyond_float32_are_still_summed():
    params, grads = (Params(np.full(5000, x, "float32"), {"w": (50, 100)}) for x in (1e30, 1.0))
    ratios = compiled(Lamb(weight_decay=0.0), params).step(params, grads, Moments.zeros(params), RATE, 1)
    assert float(ratios["w"]) == pytest.approx(1e30 / math.sqrt(10), rel=1e-4)


@BOTH
def test_only_some_tensors_are_stepped_and_the_others_keep_every_bit(optimiser):
    params, grads, moments = start("float32")
    twin = compiled(optimiser, params)
    steps(twin, 2, params, grads, moments)  # moments that are not zero
    whole, before = ([x.copy() for x in (params, *moments)] for _ in range(2))
    twin.step(whole[0], grads, Moments(*whole[1:]), RATE, 3)
    only = params.select("embeddings.", "sop.").names
    assert twin.step(params, grads, moments, RATE, 3, only=only).keys() <= set(only)
    for now, old, stepped in zip((params, *moments), before, whole, strict=True):
        for name in params:
            expected = stepped if name in only else old
            assert fingerprint(now[name]) == fingerprint(expected[name]), name
            assert name not in only or fingerprint(now[name]) != fingerprint(old[name]), name
    before = bits(params, moments)
    assert twin.step(params, grads, moments, RATE, 4, only=()) == {}
    assert bits(params, moments) == before


@BOTH
def test_gradients_are_left_as_they_were(optimiser):
    params, grads, moments = start("float32")
    before = grads.flat.copy()
    steps(compiled(optimiser, params), 2, params, grads, moments, scale=0.5)
    np.testing.assert_array_equal(grads.flat, before)


@BOTH
def test_what_does_not_fit_is_refused(optimiser):
    params, grads, moments = start("float32")
    twin = compiled(optimiser, params)
    with pytest.raises(ConfigError, match=r"the gradients are .*float64.*; to fit the weights they must be .*float32"):
        twin.step(params, grads.astype("float64"), moments, RATE, 1)
    with pytest.raises(ConfigError, match="t is 0; it must be a whole number"):
        twin.step(params, grads, moments, RATE, 0)
    for only, sentence in (("sop.b", "a collection of names"), (["sop.bb"], "did you mean 'sop.b'")):
        with pytest.raises(MinalbertError, match=sentence):
            twin.step(params, grads, moments, RATE, 1, only=only)
    other = Params(np.zeros(4), {"w": (2, 2)})
    with pytest.raises(ConfigError, match="these are not the tensors that this optimiser was made for"):
        twin.step(other, other.copy(), Moments.zeros(other), RATE, 1)
    with pytest.raises(ConfigError, match="compiled loops need float32 or float64 weights on the CPU; these are "):
        compiled(optimiser, params.astype("float16"))


def test_which_kernels_have_a_twin():
    params, *_ = start("float32")
    for kernels in ("plain", "fused"):
        assert isinstance(optimiser_for(Lamb(), params, kernels), Lamb)
    assert isinstance(compiled(Lamb(), params), CompiledLamb)
    assert isinstance(compiled(AdamW(), params), CompiledAdamW)
    other = object()
    assert compiled(other, params) is other


@pytest.mark.parametrize("optimiser", ["lamb", "adamw"])
def test_a_run_takes_compiled_steps_and_resumes_to_the_bit(optimiser, tmp_path, monkeypatch):
    kind = {"lamb": CompiledLamb, "adamw": CompiledAdamW}[optimiser]
    changes, taken, step = {"kernels": "compiled", "optimiser": optimiser, "steps": 12}, [], kind.step
    monkeypatch.setattr(kind, "step", lambda self, *given: taken.append(self.threads) or step(self, *given))
    train(tmp_path / "whole", **changes)
    assert taken == [small_settings().training.workers] * 12
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(7))
        assert train(tmp_path / "run", **changes).code == 75
    train(tmp_path / "run", **changes)
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")


def test_every_loop_lets_other_threads_run():
    found = [value for value in vars(optimisers).values() if hasattr(value, "targetoptions")]
    assert len(found) == 4
    assert all(loop.targetoptions["nogil"] for loop in found)
