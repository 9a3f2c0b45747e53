"""What attention looked at, as the model's door shows it."""

import numpy as np
import pytest

from minalbert import Albert, AlbertConfig
from minalbert.backend import device_of, to_host
from minalbert.errors import InputError

CONFIG = AlbertConfig(
    vocab_size=31,
    embedding_size=6,
    hidden_size=12,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=20,
    max_position_embeddings=9,
    initializer_range=0.5,
)
IDS = np.random.default_rng(0).integers(0, 31, (2, 7))
MASK = np.array([[1] * 7, [1, 1, 0, 1, 1, 0, 0]])


@pytest.fixture(scope="module")
def model():
    return Albert.init(CONFIG, dtype="float64")


def test_each_row_is_shared_out_over_the_tokens_that_count(model, device):
    maps = model.to(device).attention_maps(IDS, MASK)
    assert len(maps) == 3
    for probs in maps:
        assert device_of(probs) == device
        probs = to_host(probs)
        assert probs.shape == (2, 4, 7, 7)
        np.testing.assert_allclose(probs.sum(-1), 1, rtol=1e-14)
        assert (probs[1][:, :, MASK[1] == 0] == 0).all()
        assert (probs[0] > 0).all()
        assert (probs[1][:, :, MASK[1] == 1] > 0).all()


def test_maps_of_all_layers_and_heads_differ(model):
    maps = np.stack(model.attention_maps(IDS))
    flat = maps.swapaxes(1, 2).reshape(12, -1)
    apart = np.abs(flat[:, None] - flat[None]).max(-1)
    assert (apart[~np.eye(12, dtype=bool)] > 1e-3).all()


def test_the_first_map_is_the_formula(model):
    """softmax(q kᵀ / √D), from the parameters and what enters the layer."""
    x = model.hidden_states(IDS)[0]
    p = model.params
    q, k = (x @ p[f"encoder.attention.{name}.w"] + p[f"encoder.attention.{name}.b"] for name in ("query", "key"))
    for head in range(4):
        columns = slice(3 * head, 3 * head + 3)
        scores = np.einsum("bid,bjd->bij", q[..., columns], k[..., columns]) / np.sqrt(3)
        expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        np.testing.assert_allclose(model.attention_maps(IDS)[0][:, head], expected, rtol=1e-12)


def test_inputs_are_checked_as_elsewhere(model):
    with pytest.raises(InputError, match="input_ids"):
        model.attention_maps([[31]])
