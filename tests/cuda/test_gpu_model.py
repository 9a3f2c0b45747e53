"""The whole model by way of Kernels, against the plain one on the CPU."""

from dataclasses import replace

import numpy as np
import poisoned
import pytest
from cpu_module import CpuKernel
from pretended import NAMES, pretended_gpu
from storage import as_float64, of_storage

from minalbert import Albert, AlbertConfig, Batch, DropoutKey
from minalbert.compute import Compute
from minalbert.errors import ConfigError
from minalbert.fused import fused_pairs
from minalbert.fused.arena import Arena
from minalbert.fused.context import Memory
from minalbert.model import PLAIN, pretraining_backward, pretraining_forward
from minalbert.params import HEADS

CONFIG = AlbertConfig(
    vocab_size=300, embedding_size=24, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=96, max_position_embeddings=40, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
)  # fmt: skip
ATTENTION_ONLY = replace(CONFIG, hidden_dropout_prob=0.0)


# float32: some roundings of 6e-8 that average out; measured 3e-7. bf16: of 2⁻⁹ each, a dozen a layer, 7e-3; float16: an
# eighth of that
@pytest.mark.parametrize(("storage", "allowed"), [("float32", 1e-6), ("uint16", 2e-2), ("float16", 2.5e-3)])
@pytest.mark.parametrize("config", [CONFIG, ATTENTION_ONLY], ids=["dropout", "dropout in attention only"])
def test_losses_and_gradients(gpu, config, storage, allowed):
    params, batch = Albert.init(config, seed=3, dtype="float32").params, Batch.random(config, 3, 33, 5, seed=1)
    expected, expected_losses = passed(PLAIN, config, params, batch)
    pairs, there = fused_pairs(), (config, params.to("cuda"), batch.to("cuda"))
    memory = Memory(poisoned.kernels(storage), Arena(gpu), Arena(gpu))
    passed(pairs, *there, DropoutKey(4, 1), memory)  # another step before: nothing of it is left
    found, losses = passed(pairs, *there, memory=memory)
    np.testing.assert_allclose([float(x) for x in losses], expected_losses, rtol=allowed)
    # of the gradient as a whole: its smallest entries are differences of large ones
    difference = np.concatenate([(found[name].get() - expected[name]).ravel() for name in expected])
    assert np.linalg.norm(difference) < allowed * np.linalg.norm(expected.flat)


SHAPES = {
    "nothing shared": (replace(CONFIG, sharing="none"), HEADS, True),
    "attention in groups": (
        replace(CONFIG, num_hidden_layers=3, num_hidden_groups=2, sharing="attention"),
        HEADS,
        False,
    ),
    "MLM alone, recomputed": (CONFIG, ("mlm",), True),
    "SOP alone, E = H, erf": (replace(CONFIG, embedding_size=64, hidden_act="gelu"), ("pooler", "sop"), False),
}


@pytest.mark.parametrize(("config", "heads", "recompute"), SHAPES.values(), ids=SHAPES)
def test_sharing_heads_and_recomputation(gpu, config, heads, recompute):
    params, batch = Albert.init(config, seed=3, heads=heads).params, Batch.random(config, 3, 17, 4, seed=1)
    expected, expected_losses = passed(PLAIN, config, params, batch, recompute=recompute)
    memory = Memory(poisoned.kernels("float32"), Arena(gpu), Arena(gpu))
    there = config, params.to("cuda"), batch.to("cuda")
    found, losses = passed(fused_pairs(), *there, memory=memory, recompute=recompute)
    for loss, plain in zip(losses, expected_losses, strict=True):
        assert (loss is None) == (plain is None)
        assert loss is None or float(loss) == pytest.approx(float(plain), rel=1e-6)
    difference = np.concatenate([(found[name].get() - expected[name]).ravel() for name in expected])
    assert np.linalg.norm(difference) < 1e-6 * np.linalg.norm(expected.flat)


# one asked for twice and the last of all; unused slots; none twice
POSITIONS = np.array([[0, 5, 5, 32], [7, 0, 0, 0], [31, 1, 2, 3]])


@pytest.mark.parametrize(("storage", "allowed"), [("float32", 1e-6), ("uint16", 2e-2), ("float16", 2.5e-3)])
def test_an_attention_half_at_few_positions(gpu, monkeypatch, storage, allowed):
    """Output, gradients of input and weights; and to the last bit the same in any order of threads."""
    params, name = Albert.init(CONFIG, seed=3).params, NAMES[storage]
    batch, rng = Batch.random(CONFIG, 3, 33, 5, seed=1), np.random.default_rng(0)
    x, dy = (of_storage(rng.standard_normal((3, n, 64), np.float32), name) for n in (33, 4))
    expected = half(PLAIN, params, batch, as_float64(x).astype("f4"), as_float64(dy).astype("f4"), POSITIONS)
    results = []
    for order in (0, 3):
        monkeypatch.setattr(CpuKernel, "order", order)
        memory = Memory(poisoned.kernels(storage), Arena(gpu), Arena(gpu))
        there = map(gpu.asarray, (x, dy, POSITIONS))
        results.append([y.get() for y in half(fused_pairs(), params.to("cuda"), batch.to("cuda"), *there, memory)])
    for found, again, exact in zip(*results, expected, strict=True):
        np.testing.assert_array_equal(found, again)
        assert np.linalg.norm(as_float64(found) - exact) < allowed * np.linalg.norm(exact)


def half(pairs, params, batch, x, dy, positions, memory=None):
    """y, dx and the gradient of all parameters of the second layer's attention half."""
    grads = params.zeros_like()
    ctx = pairs.context(pairs, CONFIG, params, batch.attention_mask, DropoutKey(5, 2, example=3), memory)
    y, cache = pairs.attention_half.forward(x, 1, ctx, positions)
    y = y.copy()
    return y, pairs.attention_half.backward(dy, cache, ctx, grads), grads.flat


def passed(pairs, config, params, batch, key=DropoutKey(5, 2), memory=None, recompute=False):
    grads = params.zeros_like()
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, memory)
    losses, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, grads)
    return grads, losses


def test_a_model_too_wide_for_the_kernels_is_refused():
    wide = CONFIG.replace(hidden_size=4608, num_attention_heads=36, intermediate_size=8, num_hidden_layers=1)
    heads = CONFIG.replace(hidden_size=288, num_attention_heads=2)
    with pretended_gpu():
        params = Albert.init(CONFIG, device="cuda").params  # the wide ones would take a gigabyte
        for config in (wide, heads):
            with pytest.raises(ConfigError, match="take rows of 4096 numbers and heads of 128, no wider"):
                Compute("fused").check(config, params)
