"""float16's gradients, multiplied by a factor: how it goes up and down, and that nothing else of a run sees it.

The CPU has no float16 kernels; here it multiplies in float32, and a gradient is made to overflow where the factor is
too large. A factor that is a power of two changes no bit then, so that a run is compared with one without.
"""

import math
import sys

import fake_cupy
import numpy as np
import pytest
from small_run import StopAt, computed, events, small_corpus, small_settings, train

from minalbert import Albert, Batch
from minalbert.errors import ConfigError, DeviceError, TrainError
from minalbert.gradcheck.cases import TINY
from minalbert.kernels import PRECISIONS
from minalbert.parallel import Workers
from minalbert.train import assemble, checkpoint, gradient_step, trials
from minalbert.train.gradient_step import LossScale
from minalbert.train.trials import open_trial


class Overflowing(Workers):
    """As float16 would: with factors above `most` some number of the gradient is infinite."""

    most, seen = 2.0**13, []

    def gradient(self, slices, dropout=None, scale=1.0, **more):
        found = super().gradient(slices, dropout, scale=scale, **more)
        self.seen.append((dropout.step, scale))
        if scale > self.most:
            found.grads["pooler.w"][0, 0] = math.inf
        return found


@pytest.fixture
def float16(monkeypatch):
    monkeypatch.setitem(PRECISIONS, "cpu", ("full", "bf16", "float16"))
    monkeypatch.setattr(assemble, "Workers", Overflowing)
    monkeypatch.setattr(trials, "Workers", Overflowing)
    monkeypatch.setattr(Overflowing, "seen", [])
    return Overflowing


def test_the_first_steps_find_the_factor_and_the_run_is_that_of_full_precision(tmp_path, float16):
    outcome = train(tmp_path / "run", steps=20, precision="float16")
    assert outcome.step == 20
    assert float16.seen[:5] == [(0, 2.0**16), (1, 2.0**15), (2, 2.0**14), (3, 2.0**13), (4, 2.0**13)]
    said = events(tmp_path / "run", "overflow")
    assert [line["text"].split(":")[0] for line in said] == ["batch 0", "batch 1", "batch 2"]
    assert said[0]["text"].endswith("beyond float16; from now on it is 32768 times its size; no step was made")
    train(tmp_path / "full", steps=20, pass_over="0:3", kernels="fused")
    ours, theirs = computed(tmp_path / "run"), computed(tmp_path / "full")
    assert (ours["hash"], ours["position"]) == (theirs["hash"], theirs["position"])
    norms = [[line["gradient_norm"] for line in each["lines"] if line["kind"] == "train"] for each in (ours, theirs)]
    assert norms[0] == norms[1]
    _, state, _, _ = checkpoint.load(tmp_path / "run")
    assert state.extra["loss_scale"] == [2.0**13, 20]
    assert state.extra["refused"] == [0, 1, 2]
    assert state.extra["watch"][2] == 0
    assert len(state.extra["watch"][0]) == 20


def test_a_stopped_run_goes_on_with_its_factor(tmp_path, float16, monkeypatch):
    """Also one that is stopped among the batches that overflowed, before a checkpoint knows of them."""
    changes = {"steps": 24, "precision": "float16"}
    monkeypatch.setattr(gradient_step, "GOOD", 5)  # up after five, down at once: again and again
    train(tmp_path / "whole", **changes)
    assert len(events(tmp_path / "whole", "overflow")) > 5
    for looks in (2, 9, 10, 15, 20):
        run = tmp_path / f"run{looks}"
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, looks=looks: StopAt(looks))
            assert train(run, **changes).code == 75
        train(run, **changes)
        assert computed(run) == computed(tmp_path / "whole")


def test_overflows_do_not_count_as_refusals_but_a_gradient_that_no_factor_mends_does(tmp_path, float16, monkeypatch):
    monkeypatch.setattr(float16, "most", 1.0)
    outcome = train(tmp_path / "run", steps=8, precision="float16", patience=2)  # 16 in a row
    assert outcome.step == 8
    assert not events(tmp_path / "run", "rolled back")
    monkeypatch.setattr(float16, "most", 0.0)
    with pytest.raises(TrainError, match="went back to step 0 3 times"):
        train(tmp_path / "hopeless", steps=8, precision="float16", patience=2)
    assert events(tmp_path / "hopeless", "not finite")


def test_without_float16_nothing_of_it_is_seen(tmp_path, float16):
    train(tmp_path, steps=4)
    assert float16.seen == [(step, 1.0) for step in range(4)]
    assert "loss_scale" not in checkpoint.load(tmp_path)[1].extra


def test_up_after_many_good_steps_down_at_the_first_bad_one(monkeypatch):
    monkeypatch.setattr(gradient_step, "GOOD", 3)
    scale = LossScale("float16")
    powers = [16, 16, 17, 17, 17, 18, 18]
    assert [scale.overflowed(1.0, 1.0) or scale.value for _ in range(7)] == [2.0**power for power in powers]
    assert scale.overflowed(1.0, math.inf)
    assert scale.memory == [2.0**17, 0]
    assert not scale.overflowed(1.0, 1.0)
    assert scale.overflowed(1.0, math.nan)
    assert LossScale("float16", scale.memory).memory == [2.0**16, 0]


def test_a_loss_that_is_not_finite_is_no_matter_of_the_factor():
    scale = LossScale("float16")
    assert not scale.overflowed(math.nan, math.nan)
    assert scale.memory == [2.0**16, 0]
    other = LossScale("bf16")
    assert not other.overflowed(1.0, math.inf)
    assert (other.value, other.memory) == (1.0, None)


def test_a_trial_goes_on_after_an_overflow(float16):
    with open_trial(small_settings(precision="float16"), 6, small_corpus()) as trial:
        before, losses = trial.state.model.params.copy(), []
        for _, batch in zip(range(6), trial.batches, strict=False):
            losses.append(trial.step(batch, 0.01)["loss"])
            assert (trial.state.model.params.flat == before.flat).all() == (len(losses) <= 3)
    assert np.isfinite(losses).all()
    assert [scale for _, scale in float16.seen] == [2.0**16, 2.0**15, 2.0**14] + [2.0**13] * 3


def test_the_steps_of_a_trial_are_those_of_full_precision(float16, monkeypatch):
    monkeypatch.setattr(float16, "most", 2.0**16)
    weights = []
    for name in ("full", "float16"):
        with open_trial(small_settings(precision=name, clip=0.01, kernels="fused"), 3, small_corpus()) as trial:
            for _, batch in zip(range(3), trial.batches, strict=False):
                trial.step(batch, 0.01)
            weights.append(trial.state.model.params.flat)
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
def test_a_scale_multiplies_the_gradient_and_not_the_loss(kernels):
    model, batch = Albert.init(TINY, seed=1, kernels=kernels), Batch.random(TINY, 3, 7, 2)
    with Workers(model, 1) as workers:
        one, other = (workers.gradient(workers.slices_of([batch]), scale=scale) for scale in (1.0, 1024.0))
    assert float(one.losses.total) == float(other.losses.total)
    np.testing.assert_array_equal(one.grads.flat * 1024, other.grads.flat)


@pytest.mark.parametrize("name", ["tf32", "float16"])
def test_a_precision_of_gpus_alone_is_refused_elsewhere(tmp_path, name):
    with pytest.raises(ConfigError, match=rf"precision is '{name}'; on 'cpu' it must be one of: full, bf16"):
        train(tmp_path / "run", precision=name)


def test_a_gpu_without_the_kernels_refuses_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr("minalbert.kernels.gpu.missing", lambda: "cuBLAS is not found")
    with pytest.raises(DeviceError, match="precision 'float16' cannot be used: cuBLAS is not found"):
        Albert.init(TINY, kernels="fused", precision="float16", device="cuda")
