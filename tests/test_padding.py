"""Padding has no weight in attention, however large the scores; a sequence of nothing else is read without a mask."""

import numpy as np
import pytest

from minalbert import Albert
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.kernels import missing
from minalbert.layers import Pattern, attention_forward, key_mask, sparse_attention_forward

KERNELS = ["plain", "fused", "compiled"]
ATTENTION = [{}, {"attention": "local", "attention_window": 3, "attention_global": 0}]
IDS = np.array([[5, 3, 7, 1, 9], [2, 8, 4, 6, 10]])
REAL = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 1, 1]])  # padding between tokens, which no slice of a batch cuts off


def model(kernels, **changes):
    """Its queries and keys are 150 times as large as usual, and so its scores 22,500 times."""
    if reason := missing(kernels, "full", "cpu"):
        pytest.skip(reason)
    config = TINY.replace(**changes)
    params = hard_params(config).astype("float32")
    for name in params:
        if ".query." in name or ".key." in name:
            params[name][...] *= 150
    return Albert(config, params, kernels=kernels)


@pytest.mark.parametrize("changes", ATTENTION, ids=["full", "local"])
@pytest.mark.parametrize("kernels", KERNELS)
def test_what_stands_at_padding_changes_no_token(kernels, changes):
    one, other = (
        model(kernels, **changes).encode(np.where(REAL, IDS, padding), REAL)[0][REAL == 1] for padding in (0, 6)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [1, 50, 1e6, 1e18])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_padding_has_no_weight_whatever_the_size_of_the_scores(dtype, size):
    size = min(size, 50) if dtype == "float16" else size  # whose largest number is 65504
    rng, real = np.random.default_rng(0), np.array([1, 0, 1, 1, 0, 0, 0])
    q, k, v = (size * rng.standard_normal((3, 1, 2, 7, 5))).astype(dtype)
    mask = key_mask(real[None], dtype)
    context, cache = attention_forward(q, k, v, mask)
    assert np.isfinite(context).all()
    assert not cache.probs[..., real == 0].any()
    context, cache = sparse_attention_forward(q, k, v, mask, pattern=Pattern("local", 5, 1, 0, 3))
    assert np.isfinite(context).all()
    assert not cache.probs[..., :6, :][..., real == 0].any()  # the last token's window is all padding
    assert not cache.probs[..., 6, :4].any()


def test_padding_has_no_weight_at_the_ends_of_float16():
    """Where a score at padding is above a token's by more than half of what float16 holds."""
    real = np.array([1, 0, 1, 1, 0, 0, 0])
    q = np.full((1, 2, 7, 5), 100, np.float16)
    k = np.where(real == 1, -80, 80).astype(np.float16)[:, None] * np.ones_like(q)
    mask = key_mask(real[None], np.float16)
    for attend, more in (
        (attention_forward, {}),
        (sparse_attention_forward, {"pattern": Pattern("block", 7, 1, 0, 7)}),
    ):
        context, cache = attend(q, k, q, mask, **more)
        assert np.isfinite(context).all()
        assert not cache.probs[..., real == 0].any()


@pytest.mark.parametrize("changes", ATTENTION, ids=["full", "local"])
@pytest.mark.parametrize("kernels", KERNELS)
def test_a_sequence_that_is_all_padding_is_read_as_if_none_of_it_were(kernels, changes):
    net, batch = model(kernels, **changes), hard_batch(TINY)
    mask = batch.attention_mask.copy()
    mask[1] = 0
    losses, grads = net.loss_and_grads(batch._replace(attention_mask=mask))
    mask[1] = 1
    expected, expected_grads = net.loss_and_grads(batch._replace(attention_mask=mask))
    assert losses == expected
    assert np.isfinite(grads.flat).all()
    np.testing.assert_array_equal(grads.flat, expected_grads.flat)
