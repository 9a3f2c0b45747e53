"""A step captured into a graph: nothing in it that a capture forbids, and its results those of the step itself."""

import sys
from dataclasses import replace
from pathlib import Path

import fake_cupy
import numpy as np
import pytest
from pretended import pretended_gpu
from test_gpu_model import CONFIG

from minalbert import Albert, Batch, DropoutKey
from minalbert.kernels import gpu

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from gpu_graph import GradientGraph, gradient_pass

STILL = replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
FIRST, SECOND = DropoutKey(5, 2), DropoutKey(5, 3, example=4)


@pytest.fixture(autouse=True)
def cupy():
    with pretended_gpu() as cupy:
        yield cupy


def made(config, precision="full"):
    return Albert.init(config, seed=3, device="cuda", kernels="fused", precision=precision)


def examples(seed, size=3, length=17):
    return Batch.random(CONFIG, size, length, 5, seed).to("cuda")


def passed(model, batch, key, recompute=False, scale=1.0):
    """Losses and gradient without a graph."""
    grads = model.params.zeros_like()
    losses = gradient_pass(model, model.pairs.memory(model.params), batch, grads, key, recompute, scale)
    return [float(loss) for loss in losses], grads.flat.get()


@pytest.mark.parametrize("precision", ["full", "bf16", "float16"])
@pytest.mark.parametrize("config", [CONFIG, STILL], ids=["dropout", "no dropout"])
def test_a_graph_does_what_the_step_does(config, precision):
    """To the last bit, for batches and keys that it was not captured with, and with the memory of its pass spoilt."""
    model = made(config, precision)
    keys, grads = (FIRST, SECOND) if config is CONFIG else (None, None), model.params.zeros_like()
    step = GradientGraph(model, grads, examples(0), keys[0], scale=4.0)
    for seed, key in ((1, keys[1]), (2, keys[0]), (1, keys[1])):
        spoil(step.memory)
        losses = step(examples(seed), key)
        expected, gradient = passed(model, examples(seed), key, scale=4.0)
        assert [float(loss) for loss in losses] == expected
        np.testing.assert_array_equal(grads.flat.get(), gradient)


def spoil(memory):
    kept = "dropout key", "cublas"
    scratch = [buffer for name, buffer in memory.kernels.scratch.buffers().items() if name not in kept]
    for block in (*scratch, *memory.arena.blocks, *memory.scratch.blocks):
        block._host.view(np.uint8)[...] = 0xFF


def test_a_graph_that_recomputes():
    model = made(replace(CONFIG, num_hidden_layers=3))
    grads = model.params.zeros_like()
    steps = [GradientGraph(model, grads, examples(0), FIRST, recompute=recompute) for recompute in (False, True)]
    gradients = []
    for step in steps:
        step(examples(1), SECOND)
        gradients.append(grads.flat.get())
    np.testing.assert_array_equal(*gradients)
    np.testing.assert_array_equal(gradients[0], passed(model, examples(1), SECOND)[1])
    whole, less = (sum(nbytes for _, nbytes in step.memory.arena.largest()) for step in steps)
    assert less < 0.8 * whole


def test_batches_are_copied_and_left_as_they_are():
    model, first, second = made(STILL), examples(0), examples(1)
    before = [array.get() for array in first]
    step = GradientGraph(model, model.params.zeros_like(), first)
    expected = float(step(first).total)
    step(second)
    for array, host in zip(first, before, strict=True):
        np.testing.assert_array_equal(array.get(), host)
    assert float(step(first).total) == expected


def test_weights_are_read_anew():
    """They change between two launches; those of 16 bits are made in the graph."""
    model = made(STILL, "bf16")
    grads = model.params.zeros_like()
    step, batch = GradientGraph(model, grads, examples(0)), examples(1)
    before = float(step(batch).total)
    model.params.flat[...] = model.params.flat * 1.5
    assert float(step(batch).total) != before
    np.testing.assert_array_equal(grads.flat.get(), passed(model, examples(1), None)[1])


def test_other_shapes_and_other_dropout_are_refused():
    model = made(CONFIG)
    step = GradientGraph(model, model.params.zeros_like(), examples(0), FIRST)
    with pytest.raises(ValueError, match="takes the shapes that it was captured with"):
        step(examples(0, size=2), FIRST)
    with pytest.raises(ValueError, match="drops in every step or in none"):
        step(examples(0))


def test_nothing_of_the_pass_is_allocated_while_capturing(monkeypatch):
    """Nor later: the memory of the pass is the graph's own, whatever other passes the model makes."""
    model, addresses, captured = made(CONFIG), [], GradientGraph._captured

    def noting(self, own, key):
        addresses.append(places(self.memory))
        return captured(self, own, key)

    monkeypatch.setattr(GradientGraph, "_captured", noting)
    step = GradientGraph(model, model.params.zeros_like(), examples(0), FIRST)
    model.loss_and_grads(examples(1, size=6, length=31), FIRST)
    step(examples(1), SECOND)
    assert addresses == [places(step.memory)]


def places(memory):
    blocks = (*memory.kernels.scratch.buffers().values(), *memory.arena.blocks, *memory.scratch.blocks)
    return [block._host.ctypes.data for block in blocks]


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
    model, drop, times = made(CONFIG), gpu.Kernels.drop, []

    def planted_drop(kernels, x, dropout):
        times.append(planted(x[:3]))
        drop(kernels, x, dropout)

    monkeypatch.setattr(gpu.Kernels, "drop", planted_drop)
    with pytest.raises((RuntimeError, NotImplementedError), match="not permitted when stream is capturing"):
        GradientGraph(model, model.params.zeros_like(), examples(0), FIRST)
    assert len(times) == 2  # forward and backward of the run before the capture
    assert float(fake_cupy.asarray(np.ones(3)).sum()) == 3.0  # nobody is capturing any more


def test_memory_that_all_share_is_found(monkeypatch):
    model = made(CONFIG)
    monkeypatch.setattr(fake_cupy.cuda, "using_allocator", lambda allocator: pretended_gpu())
    with pytest.raises(RuntimeError, match="from the pool that all share"):
        GradientGraph(model, model.params.zeros_like(), examples(0), FIRST)


def test_memory_that_is_gone_is_found():
    model = made(CONFIG)
    batch = examples(0)
    step = GradientGraph(model, model.params.zeros_like(), batch, FIRST)
    step(batch, FIRST)
    step.pool = None
    with pytest.raises(RuntimeError, match="the graph's memory pool is gone"):
        step(batch, FIRST)
