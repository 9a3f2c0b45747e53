"""A step captured into a graph: nothing in it that a capture forbids, and its results those of the step itself."""

from dataclasses import replace

import fake_cupy
import numpy as np
import pytest
from pretended import pretended_gpu
from test_gpu_model import CONFIG

from minalbert import Albert, Batch, DropoutKey, Totals
from minalbert.fast.graph import GradientGraph
from minalbert.fast.precision import How, engine_for
from minalbert.fast.prepared import Prepared

STILL = replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
FIRST, SECOND = DropoutKey(5, 2), DropoutKey(5, 3, example=4)


@pytest.fixture(autouse=True)
def cupy():
    with pretended_gpu() as cupy:
        yield cupy


def engine(config, precision):
    return engine_for(config, Albert.init(config, seed=3, device="cuda").params, How(precision))


def inputs(config, engine, seed, size=3, length=17):
    return Prepared.of(Batch.random(config, size, length, 5, seed).to("cuda"), engine.params, Totals())


def passed(engine, inputs, stream, keep="all", scale=1.0):
    grads = engine.params.zeros_like()
    losses = engine.forward_prepared(inputs, stream, keep)
    engine.backward(grads, scale)
    return [float(loss) for loss in losses], grads.flat.get()


@pytest.mark.parametrize("precision", ["full", "bf16", "float16"])
@pytest.mark.parametrize("config", [CONFIG, STILL], ids=["dropout", "no dropout"])
def test_a_graph_does_what_the_step_does(config, precision):
    """To the last bit, for batches and places that it was not captured with, and with scratch memory spoilt."""
    ours, other = engine(config, precision), engine(config, precision)
    coins = (FIRST, SECOND) if config is CONFIG else (None, None)
    grads = ours.params.zeros_like()
    step = GradientGraph(ours, grads, inputs(config, ours, 0), coins[0], scale=4.0)
    for seed, stream in ((1, coins[1]), (2, coins[0]), (1, coins[1])):
        spoil(ours)
        losses = step(inputs(config, ours, seed), stream)
        expected, gradient = passed(other, inputs(config, other, seed), stream, scale=4.0)
        assert [float(loss) for loss in losses] == expected
        np.testing.assert_array_equal(grads.flat.get(), gradient)


def spoil(engine):
    for name, block in (engine.workspace._blocks | engine.kernels.scratch.buffers()).items():
        if name not in ("dropout key", "cublas"):
            block._host.view(np.uint8)[...] = 0xFF


def test_a_graph_that_recomputes():
    ours, other = engine(CONFIG, "full"), engine(CONFIG, "full")
    grads = ours.params.zeros_like()
    step = GradientGraph(ours, grads, inputs(CONFIG, ours, 0), FIRST, keep="inputs")
    step(inputs(CONFIG, ours, 1), SECOND)
    np.testing.assert_array_equal(grads.flat.get(), passed(other, inputs(CONFIG, other, 1), SECOND)[1])
    assert "qkv.all layers" in ours.workspace.sizes()
    assert "qkv.1" not in ours.workspace.sizes()


def test_batches_are_copied_and_left_as_they_are():
    ours = engine(STILL, "full")
    first, second = inputs(STILL, ours, 0), inputs(STILL, ours, 1)
    before = [array.get() for array in first]
    step = GradientGraph(ours, ours.params.zeros_like(), first)
    expected = float(step(first).total)
    step(second)
    for array, host in zip(first, before, strict=True):
        np.testing.assert_array_equal(array.get(), host)
    assert float(step(first).total) == expected


def test_weights_are_read_anew():
    """They change between two launches; those of 16 bits are made in the graph."""
    ours = engine(STILL, "bf16")
    grads = ours.params.zeros_like()
    step, batch = GradientGraph(ours, grads, inputs(STILL, ours, 0)), inputs(STILL, ours, 1)
    before = float(step(batch).total)
    ours.params.flat[...] = ours.params.flat * 1.5
    assert float(step(batch).total) != before
    other = engine(STILL, "bf16")
    other.params.flat[...] = ours.params.flat
    np.testing.assert_array_equal(grads.flat.get(), passed(other, inputs(STILL, other, 1), None)[1])


def test_other_shapes_and_other_dropout_are_refused():
    ours = engine(CONFIG, "full")
    grads = ours.params.zeros_like()
    step = GradientGraph(ours, grads, inputs(CONFIG, ours, 0), FIRST)
    with pytest.raises(ValueError, match="takes the shapes that it was captured with"):
        step(inputs(CONFIG, ours, 0, size=2), FIRST)
    with pytest.raises(ValueError, match="drops in every step or in none"):
        step(inputs(CONFIG, ours, 0))


def test_its_memory_stays_though_the_engine_serves_a_larger_batch():
    ours = engine(CONFIG, "full")
    step = GradientGraph(ours, ours.params.zeros_like(), inputs(CONFIG, ours, 0), FIRST)
    captured = [{id(block) for block in blocks.values()} for blocks in buffers(ours)]
    passed(ours, inputs(CONFIG, ours, 1, size=6, length=31), FIRST)
    for before, after in zip(captured, buffers(ours), strict=True):
        assert before - {id(block) for block in after.values()}
        assert before <= {id(block) for block in step.buffers}


def buffers(engine):
    return engine.workspace._blocks, engine.kernels.scratch.buffers()


PLANTED = {
    "a number read": lambda x: float(x.sum()),
    "a condition": lambda x: 1 if x.any() else 0,
    "a whole number": lambda x: int(x.argmax()),
    "a copy to the host": lambda x: x.get(),
    "a copy from the host": lambda x: x + fake_cupy.asarray(np.ones(1, np.float32)),
    "a product": lambda x: x @ x.T,
    "a product by name": lambda x: fake_cupy.matmul(x, x.T),
    "where numbers are": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0],
    "a mask to write to": lambda x: x.__setitem__(x > 0, x.sum()),
    "a number to some rows": lambda x: x.__setitem__(fake_cupy.arange(2), 0.0),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_what_a_capture_forbids_is_found(monkeypatch, planted):
    ours = engine(CONFIG, "full")
    kernels, drop, times = ours.kernels, ours.kernels.drop, []

    def planted_drop(x, dropout):
        times.append(planted(x[:3]))
        drop(x, dropout)

    monkeypatch.setattr(kernels, "drop", planted_drop)
    with pytest.raises((RuntimeError, NotImplementedError), match="not permitted when stream is capturing"):
        GradientGraph(ours, ours.params.zeros_like(), inputs(CONFIG, ours, 0), FIRST)
    assert len(times) == 2  # forward and backward of the run before the capture
    assert float(fake_cupy.asarray(np.ones(3)).sum()) == 3.0  # nobody is capturing any more


def test_memory_that_all_share_is_found(monkeypatch):
    ours = engine(CONFIG, "full")
    monkeypatch.setattr(fake_cupy.cuda, "using_allocator", lambda allocator: pretended_gpu())
    with pytest.raises(RuntimeError, match="from the pool that all share"):
        GradientGraph(ours, ours.params.zeros_like(), inputs(CONFIG, ours, 0), FIRST)


def test_memory_that_is_gone_is_found():
    ours = engine(CONFIG, "full")
    batch = inputs(CONFIG, ours, 0)
    step = GradientGraph(ours, ours.params.zeros_like(), batch, FIRST)
    step(batch, FIRST)
    step.pool = None
    with pytest.raises(RuntimeError, match="the graph's memory pool is gone"):
        step(batch, FIRST)
