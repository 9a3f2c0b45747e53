"""The whole model by way of Kernels, against the plain one on the CPU."""

from dataclasses import replace

import numpy as np
import poisoned
import pytest

from minalbert import Albert, AlbertConfig, Batch, DropoutKey, Totals
from minalbert.fast.engine import Engine
from minalbert.fast.plain import PlainEngine

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
    expected, expected_losses = passed(PlainEngine(config, params), batch)
    on_gpu = Engine(config, params.to("cuda"), lambda: poisoned.kernels(storage), np.dtype(storage))
    passed(on_gpu, batch.to("cuda"), DropoutKey(4, 1))  # another step before: nothing of it is left
    found, losses = passed(on_gpu, batch.to("cuda"))
    np.testing.assert_allclose([float(x) for x in losses], expected_losses, rtol=allowed)
    # of the gradient as a whole: its smallest entries are differences of large ones
    difference = np.concatenate([(found[name].get() - expected[name]).ravel() for name in expected])
    assert np.linalg.norm(difference) < allowed * np.linalg.norm(expected.flat)


def passed(engine, batch, stream=DropoutKey(5, 2)):
    grads = engine.params.zeros_like()
    losses = engine.forward(batch, stream, Totals(), "all")
    engine.backward(grads)
    return grads, losses
