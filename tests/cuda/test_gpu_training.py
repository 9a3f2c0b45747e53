"""Training runs on the pretended GPU, by its kernels: the optimiser, float16's factor, and what is said and kept."""

import math

import numpy as np
import pytest
from pretended import pretended_gpu
from small_run import StopAt, computed, events, small_corpus, small_settings, train

from minalbert import Albert, Batch
from minalbert.fused import optimiser_for
from minalbert.kernels import gpu
from minalbert.kernels.gpu.lamb import GpuLamb
from minalbert.parallel import Workers
from minalbert.train import assemble, checkpoint, gradient_step
from minalbert.train.trials import open_trial

CHANGES = {
    "seed": 1,
    "steps": 4,
    "every": 2,
    "evaluate_every": 4,
    "evaluate_instances": 8,
    "batch": 8,
    "micro_batch": 4,
}


@pytest.fixture(autouse=True)
def cupy():
    with pretended_gpu() as cupy:
        yield cupy


def weights(outcome):
    params = outcome.model.params.to("cpu")
    return np.array(params.flat)


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    """With slices of one part each, as on a GPU: the same dropout masks."""
    run = tmp_path_factory.mktemp("cpu")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_PART", 10**9)
        return weights(train(run, **CHANGES)), weights(train(run / "0", **CHANGES | {"steps": 1, "rate": 1e-12}))


# of the way that four steps went: float32 measured 4e-7, bf16 5e-3, float16 6e-4
@pytest.mark.parametrize(("precision", "allowed"), [("full", 2e-6), ("bf16", 2e-2), ("float16", 3e-3)])
def test_a_run_is_that_of_the_cpu(tmp_path, on_cpu, precision, allowed):
    outcome = train(tmp_path, device="cuda", precision=precision, **CHANGES)
    expected, start = on_cpu
    assert outcome.step == 4
    assert np.linalg.norm(weights(outcome) - expected) < allowed * np.linalg.norm(expected - start)
    kept = checkpoint.load(tmp_path)[1].extra.get("loss_scale")
    assert kept == ([2.0**16, 4] if precision == "float16" else None)


def test_float16_finds_its_factor(tmp_path, monkeypatch):
    """2⁴⁰ is beyond it, 2¹⁶ is not; a stop among the batches that overflow changes no bit."""
    monkeypatch.setattr(gradient_step, "FIRST", 2.0**40)
    changes = CHANGES | {"device": "cuda", "precision": "float16", "steps": 2, "every": 1, "batch": 4}
    train(tmp_path / "whole", **changes)
    overflows = len(events(tmp_path / "whole", "overflow"))
    assert 10 < overflows < 30
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(overflows + 1))
        assert train(tmp_path / "run", **changes).code == 75
    train(tmp_path / "run", **changes)
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")


def test_which_optimiser_takes_the_steps(monkeypatch):
    lamb, adamw = small_settings(), small_settings(optimiser="adamw")
    model = Albert.init(lamb.model.replace(vocab_size=50))
    lamb, adamw, there = lamb.make_optimiser(), adamw.make_optimiser(), model.params.to("cuda")
    assert optimiser_for(lamb, model.params, "fused") is lamb
    on_gpu = optimiser_for(lamb, there, "fused")
    assert isinstance(on_gpu, GpuLamb)
    assert on_gpu.settings is lamb
    assert optimiser_for(adamw, there, "fused") is adamw
    assert optimiser_for(lamb, model.params.astype("float64").to("cuda"), "fused") is lamb
    monkeypatch.setattr(gpu, "missing", lambda: "no cuBLAS")
    assert optimiser_for(lamb, there, "fused") is lamb


def test_a_run_and_a_trial_have_the_gpus_lamb(tmp_path, monkeypatch):
    steps = []
    step = GpuLamb.step
    monkeypatch.setattr(GpuLamb, "step", lambda self, *given: steps.append(given[4]) or step(self, *given))
    train(tmp_path, device="cuda", **CHANGES | {"steps": 2})
    with open_trial(small_settings(device="cuda", **CHANGES), 2, small_corpus()) as trial:
        assert math.isfinite(trial.step(next(trial.batches), 0.01)["loss"])
    assert steps == [1, 2, 1]


def test_a_gpu_has_one_worker(monkeypatch):
    """A batch is cut among threads of the CPU only: each would have buffers of its own on the GPU."""
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_MORE", 1)
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_PART", 1)
    model = Albert.init(small_settings().model.replace(vocab_size=50))
    batch = Batch.random(model.config, 8, 16, 2)
    batch = batch._replace(
        attention_mask=batch.attention_mask * (np.arange(16) < 12), mlm_weights=0 * batch.mlm_weights
    )
    for device, count in (("cpu", 8), ("cuda", 1)):
        with Workers(model.to(device), 4) as shared:
            slices = shared.slices(batch)
            assert len(slices) == count
    ((part,),) = slices
    assert part.batch.input_ids.shape == (8, 12)
    ((part,),) = shared.slices(batch.to("cuda"))  # to trim what is there would be to wait for it
    assert part.batch.input_ids.shape == (8, 16)
