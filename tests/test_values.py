"""Forward values against something else: plain Python, one number at a time, or a property from theory.

A wrong forward with the wrong backward that matches it would pass every gradient check.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minalbert import layers
from minalbert.layers.erf import erf
from minalbert.model.tasks import label_loss_backward, label_loss_forward

rng = np.random.default_rng(0)


def test_linear_is_a_sum_of_products():
    x, w, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 5)), rng.standard_normal(5)
    y, _ = layers.linear_forward(x, w, b)
    for i, j, o in np.ndindex(2, 3, 5):
        assert y[i, j, o] == pytest.approx(sum(x[i, j, k] * w[k, o] for k in range(4)) + b[o], rel=1e-13)


@pytest.mark.parametrize("x", [-8.0, -3.0, -0.7518, -1e-9, 0.0, 1e-9, 0.3, 1.0, 2.7, 8.0])
def test_gelu_forms(x):
    y_tanh, _ = layers.gelu_forward(np.array([x]))
    y_erf, _ = layers.gelu_erf_forward(np.array([x]))
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    assert y_tanh[0] == pytest.approx(0.5 * x * (1 + math.tanh(u)), rel=1e-13, abs=1e-15)
    assert y_erf[0] == pytest.approx(0.5 * x * (1 + math.erf(x / math.sqrt(2))), rel=1e-13, abs=1e-15)


def test_the_two_gelus_differ_by_the_published_amount():
    x = np.linspace(-6, 6, 120_001)
    gap = np.abs(layers.gelu_forward(x)[0] - layers.gelu_erf_forward(x)[0])
    assert gap.max() == pytest.approx(4.732e-4, rel=1e-3)
    assert abs(x[gap.argmax()]) == pytest.approx(2.70, abs=0.01)


def test_erf_to_the_last_bits():
    x = np.concatenate([np.linspace(-7, 7, 20_001), [0.0, 1e-300, 1e-8, -1e-8, 5.999999, 6.0, 40.0, -40.0]])
    exact = np.array([math.erf(v) for v in x])
    assert np.abs(erf(x) - exact).max() < 4e-16
    assert np.abs(erf(x.astype(np.float32)) - exact).max() < 2e-7
    assert erf(np.array([1e-300]))[0] == pytest.approx(2 / math.sqrt(math.pi) * 1e-300, rel=1e-14)


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 6), st.floats(-500, 500))
def test_softmax_is_a_distribution_that_ignores_a_shift(rows, size, shift):
    x = np.random.default_rng(rows * 7 + size).standard_normal((rows, size)) * 3
    y = layers.softmax(x)
    np.testing.assert_allclose(y.sum(axis=-1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(layers.softmax(x + shift), y, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(np.exp(layers.log_softmax(x)), y, rtol=1e-13)


def test_softmax_of_huge_scores_stays_finite():
    np.testing.assert_array_equal(layers.softmax(np.array([[1e30, 0.0, -1e30]])), [[1.0, 0.0, 0.0]])


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(2, 9), st.floats(0.01, 100), st.floats(-50, 50))
def test_layer_norm_ignores_shift_and_scale(rows, size, scale, shift):
    x = np.random.default_rng(rows * 11 + size).standard_normal((rows, size))
    gain, bias = np.linspace(0.5, 2, size), np.linspace(-1, 1, size)
    y, _ = layers.layer_norm_forward(x, gain, bias)
    moved, _ = layers.layer_norm_forward(scale * x + shift, gain, bias)
    np.testing.assert_allclose(moved, y, rtol=1e-6, atol=1e-6)
    xhat = (y - bias) / gain
    np.testing.assert_allclose(xhat.mean(axis=-1), 0, atol=1e-12)
    np.testing.assert_allclose((xhat**2).mean(axis=-1), 1, rtol=1e-6)


def test_layer_norm_one_number_at_a_time():
    x, gain, bias = rng.standard_normal((2, 3, 5)), rng.standard_normal(5), rng.standard_normal(5)
    y, _ = layers.layer_norm_forward(x, gain, bias, eps=0.1)
    for i, j, h in np.ndindex(2, 3, 5):
        mean = sum(x[i, j]) / 5
        variance = sum((v - mean) ** 2 for v in x[i, j]) / 5
        expected = gain[h] * (x[i, j, h] - mean) / math.sqrt(variance + 0.1) + bias[h]
        assert y[i, j, h] == pytest.approx(expected, rel=1e-12)


def test_layer_norm_holds_half_precision_that_would_overflow():
    x = np.array([[300.0, -300.0, 600.0, 0.0]])
    gain, bias = np.ones(4), np.zeros(4)
    exact, _ = layers.layer_norm_forward(x, gain, bias)
    half, cache = layers.layer_norm_forward(x.astype(np.float16), gain.astype(np.float16), bias.astype(np.float16))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, exact, rtol=2e-3, atol=2e-3)
    assert layers.layer_norm_backward(half, cache)[0].dtype == np.float16


def plain_attention(q, k, v, mask):
    """One query at a time."""
    B, N, T, D = q.shape
    context = np.zeros_like(q)
    for b, n, i in np.ndindex(B, N, T):
        scores = [sum(q[b, n, i, d] * k[b, n, j, d] for d in range(D)) / math.sqrt(D) for j in range(T)]
        weights = [math.exp(s + mask[b, 0, 0, j]) for j, s in enumerate(scores)]
        for j in range(T):
            context[b, n, i] += weights[j] / sum(weights) * v[b, n, j]
    return context


def test_attention_one_query_at_a_time():
    q, k, v = rng.standard_normal((3, 2, 3, 4, 5))
    mask = -3 * rng.random((2, 1, 1, 4))
    np.testing.assert_allclose(layers.attention_forward(q, k, v, mask)[0], plain_attention(q, k, v, mask), rtol=1e-12)


def test_heads_are_consecutive_columns():
    x = rng.standard_normal((2, 4, 6))
    w, b = {key: rng.standard_normal((6, 6)) for key in "qkvo"}, {key: rng.standard_normal(6) for key in "qkvo"}
    mask = np.zeros((2, 1, 1, 4))
    y, _ = layers.multi_head_forward(x, *(t[key] for key in "qkvo" for t in (w, b)), mask, heads=3)
    q, k, v = (x @ w[key] + b[key] for key in "qkv")
    context = np.concatenate(
        [plain_attention(*(part[:, None, :, 2 * n : 2 * n + 2] for part in (q, k, v)), mask)[:, 0] for n in range(3)],
        axis=-1,
    )
    np.testing.assert_allclose(y, context @ w["o"] + b["o"], rtol=1e-12)


def test_padded_keys_get_no_weight_and_no_gradient():
    q, k, v = rng.standard_normal((3, 2, 3, 5, 4))
    mask = layers.key_mask(np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]), np.float64)
    context, cache = layers.attention_forward(q, k, v, mask)
    probs = cache[3]
    assert (probs[1, :, :, 2:] == 0).all()
    assert (probs[1, :, :, :2] > 0).all()
    _, dk, dv, _ = layers.attention_backward(rng.standard_normal(context.shape), cache)
    assert (dk[1, :, 2:] == 0).all()
    assert (dv[1, :, 2:] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_a_row_of_padding_alone_is_read_as_if_it_were_none(dtype):
    q, k, v = rng.standard_normal((3, 1, 1, 3, 4)).astype(dtype)
    mask = layers.key_mask(np.zeros((1, 3), int), dtype)
    assert not mask.any()
    context, cache = layers.attention_forward(q, k, v, mask)
    assert np.isfinite(context).all()
    assert all(np.isfinite(g).all() for g in layers.attention_backward(np.ones_like(context), cache)[:3])


def test_key_bias_has_no_gradient():
    """Softmax ignores what is added to a whole row of scores, and the key bias adds just that."""
    x = rng.standard_normal((2, 5, 6))
    square = [rng.standard_normal(shape) for _ in "qkvo" for shape in ((6, 6), (6,))]
    y, cache = layers.multi_head_forward(x, *square, np.zeros((2, 1, 1, 5)), heads=2)
    dbk = layers.multi_head_backward(rng.standard_normal(y.shape), cache)[4]
    assert np.abs(dbk).max() < 1e-13


def test_embedding_adds_the_rows_it_is_told():
    word, position, kind = rng.standard_normal((9, 3)), rng.standard_normal((6, 3)), rng.standard_normal((2, 3))
    ids, types = np.array([[1, 8, 1]]), np.array([[0, 1, 1]])
    y, _ = layers.embedding_forward(ids, types, word, position, kind)
    for t in range(3):
        np.testing.assert_allclose(y[0, t], word[ids[0, t]] + position[t] + kind[types[0, t]], rtol=1e-14)


def test_untouched_rows_of_the_word_table_get_exactly_zero():
    ids = np.array([[1, 4, 1]])
    y, cache = layers.embedding_forward(ids, 0 * ids, np.ones((9, 3)), np.ones((6, 3)), np.ones((2, 3)))
    dword = layers.embedding_backward(np.ones_like(y), cache)[2]
    np.testing.assert_array_equal(dword[:, 0], [0, 2, 0, 0, 1, 0, 0, 0, 0])


def test_cross_entropy_is_the_weighted_mean_of_surprise():
    logits, labels, weights = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), np.array([1, 2]), np.array([3.0, 1.0])
    p = [math.exp(2.0) / sum(map(math.exp, (1.0, 2.0, 0.5))), 1 / 3]
    loss, _ = layers.cross_entropy_forward(logits, labels, weights)
    assert float(loss) == pytest.approx(-(3 * math.log(p[0]) + math.log(p[1])) / 4, rel=1e-14)
    part, _ = layers.cross_entropy_forward(logits, labels, weights, total=8.0)
    assert float(part) == pytest.approx(float(loss) / 2, rel=1e-14)


def test_no_targets_cost_nothing():
    logits, labels, weights = rng.standard_normal((2, 3, 5)), np.zeros((2, 3), int), np.zeros((2, 3))
    loss, cache = layers.cross_entropy_forward(logits, labels, weights)
    assert loss == 0
    assert (layers.cross_entropy_backward(1.0, cache)[0] == 0).all()


def test_gather_takes_the_named_positions():
    x = rng.standard_normal((2, 4, 3))
    y, _ = layers.gather_forward(x, np.array([[3, 3], [0, 2]]))
    np.testing.assert_array_equal(y, [[x[0, 3], x[0, 3]], [x[1, 0], x[1, 2]]])


def test_a_negative_label_is_none():
    scores, labels = np.log([[[1.0, 3.0], [9.0, 1.0]], [[1.0, 1.0], [2.0, 6.0]]]), np.array([[1, -100], [-1, 0]])
    loss, cache = label_loss_forward(scores, labels)
    assert loss == pytest.approx((np.log(4 / 3) + np.log(4)) / 2)
    assert not label_loss_backward(1.0, cache)[labels < 0].any()
