"""Reversible layers: what backward reconstructs, how exactly, and what is kept meanwhile."""

import gc
import tracemalloc
import warnings

import numpy as np
import pytest

from minalbert import PRESETS, Albert, Batch, DropoutKey
from minalbert.errors import ConfigError
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.layers import gather_backward, gather_forward, softmax
from minalbert.model import PLAIN, encoder, pretraining_backward, pretraining_forward, reversible
from minalbert.model.block import block_forward
from minalbert.model.reversible import reversible_block_backward, reversible_block_forward, reversible_block_inputs

KEY = DropoutKey(seed=5, step=2)
REVERSIBLE = TINY.replace(reversible=True, num_hidden_layers=6)
CONFIGS = {
    **{f"sharing {sharing}": REVERSIBLE.replace(sharing=sharing) for sharing in ("all", "attention", "ffn", "none")},
    "groups": REVERSIBLE.replace(num_hidden_groups=2),
    "one layer": REVERSIBLE.replace(num_hidden_layers=1),
    "erf": REVERSIBLE.replace(hidden_act="gelu"),
    "local": REVERSIBLE.replace(attention="local", attention_window=3),
    "strided, dropout": REVERSIBLE.replace(
        attention="strided", attention_window=2, attention_stride=3, attention_probs_dropout_prob=0.3
    ),
    "dropout": REVERSIBLE.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def context(config, key=KEY, params=None):
    params = hard_params(config) if params is None else params
    return PLAIN.context(PLAIN, config, params, hard_batch(config).attention_mask, key)


def keeping_forward(x, ctx, positions):
    """The encoder with every layer's cache kept."""
    x1, x2, caches = x, x, []
    for layer, wanted in enumerate(encoder.positions_of_layers(positions, ctx)):
        x1, x2, cache = reversible_block_forward(x1, x2, layer, ctx, wanted)
        caches.append(cache)
    return (x1 + x2) / 2, caches


def keeping_backward(dx, caches, ctx, grads):
    dx1 = dx2 = dx / 2
    for cache in reversed(caches):
        dx1, dx2 = reversible_block_backward(dx1, dx2, cache, ctx, grads)
    return dx1 + dx2


@every_config
def test_the_gradient_is_that_of_a_model_which_keeps_everything(config, monkeypatch):
    model, batch = Albert(config, hard_params(config)), hard_batch(config)
    losses, grads = model.loss_and_grads(batch, KEY)
    monkeypatch.setattr(encoder, "reversible_forward", keeping_forward)
    monkeypatch.setattr(encoder, "reversible_backward", keeping_backward)
    kept_losses, kept_grads = model.loss_and_grads(batch, KEY)
    assert losses == kept_losses
    scale = np.abs(kept_grads.flat).max()
    np.testing.assert_allclose(grads.flat, kept_grads.flat, rtol=1e-12, atol=1e-12 * scale)


@every_config
def test_a_block_gives_its_inputs_and_its_cache_back(config):
    ctx, rng = context(config), np.random.default_rng(1)
    for layer in range(config.num_hidden_layers):
        x1, x2 = rng.standard_normal((2, *hard_batch(config).input_ids.shape, config.hidden_size))
        y1, y2, cache = reversible_block_forward(x1, x2, layer, ctx)
        again1, again2, cache_again = reversible_block_inputs(y1, y2, layer, ctx)
        np.testing.assert_allclose(again1, x1, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(again2, x2, rtol=1e-13, atol=1e-13)
        dy1, dy2 = rng.standard_normal((2, *x1.shape))
        grads, grads_again = ctx.params.zeros_like(), ctx.params.zeros_like()
        dx = reversible_block_backward(dy1, dy2, cache, ctx, grads)
        dx_again = reversible_block_backward(dy1, dy2, cache_again, ctx, grads_again)
        np.testing.assert_allclose(dx_again, dx, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(grads_again.flat, grads.flat, rtol=1e-11, atol=1e-11)


def test_a_layer_is_the_formula():
    """Written out with NumPy alone, for one layer and one head."""
    config = REVERSIBLE.replace(num_hidden_layers=1, num_attention_heads=1, hidden_act="gelu_new")
    ctx, batch = context(config, key=None), hard_batch(config)
    w = {name.removeprefix("encoder."): array for name, array in ctx.params.items()}
    x = np.random.default_rng(0).standard_normal((*batch.input_ids.shape, config.hidden_size))

    def norm(x, half):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(x.var(-1, keepdims=True) + config.layer_norm_eps)
        return scaled * w[f"{half}.norm.gain"] + w[f"{half}.norm.bias"]

    def linear(x, name):
        return x @ w[f"{name}.w"] + w[f"{name}.b"]

    z = norm(x, "attention")
    q, k, v = (linear(z, f"attention.{name}") for name in ("query", "key", "value"))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(config.hidden_size) - 10000.0 * (1 - batch.attention_mask[:, None])
    y1 = x + linear(softmax(scores) @ v, "attention.output")
    u = linear(norm(y1, "ffn"), "ffn.up")
    u = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
    y2 = x + linear(u, "ffn.down")
    np.testing.assert_allclose(encoder.encoder_forward(x, ctx)[0], (y1 + y2) / 2, rtol=1e-12, atol=1e-12)


def test_dropout_masks_are_those_of_the_same_places_in_other_models():
    config = CONFIGS["dropout"]
    ctx, rng = context(config), np.random.default_rng(0)
    for layer in range(config.num_hidden_layers):
        x1, x2 = rng.standard_normal((2, *hard_batch(config).input_ids.shape, config.hidden_size))
        *_, (*_, attention, ffn) = reversible_block_forward(x1, x2, layer, ctx)
        _, (plain_attention, plain_ffn) = block_forward(x1, layer, ctx)
        np.testing.assert_equal(attention.dropout, plain_attention.dropout)
        np.testing.assert_equal(attention.attention.attention.dropout, plain_attention.attention.attention.dropout)
        np.testing.assert_equal(ffn.dropout, plain_ffn.dropout)


@every_config
def test_few_positions_are_those_of_all(config):
    """The output at positions, one of them asked for twice, and the gradient from theirs."""
    ctx, rng = context(config), np.random.default_rng(0)
    positions = np.array([[0, 2, 2], [3, 0, 1], [0, 4, 1]])
    x = rng.standard_normal((*hard_batch(config).input_ids.shape, config.hidden_size))
    dy = rng.standard_normal((*positions.shape, config.hidden_size))
    found = []
    ctx = ctx._replace(config=config.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    for wanted in (positions, None):
        y, cache = encoder.encoder_forward(x, ctx, positions=wanted)
        y, gather = gather_forward(y, positions if wanted is None else None)
        grads = ctx.params.zeros_like()
        found.append((y, encoder.encoder_backward(gather_backward(dy, gather)[0], cache, ctx, grads), grads.flat))
    for few, all_of_them in zip(*found, strict=True):
        np.testing.assert_allclose(few, all_of_them, rtol=1e-10, atol=1e-12 * np.abs(all_of_them).max())


def test_recomputation_has_nothing_to_save():
    model, batch = Albert(REVERSIBLE, hard_params(REVERSIBLE)), hard_batch(REVERSIBLE)
    _, grads = model.loss_and_grads(batch, KEY)
    for recompute in (True, 2):
        assert np.array_equal(model.loss_and_grads(batch, KEY, recompute=recompute)[1].flat, grads.flat)


def test_states_and_attention_are_those_of_shorter_encoders():
    """The state after l layers is what an encoder of l layers gives."""
    model, batch = Albert(REVERSIBLE, hard_params(REVERSIBLE)), hard_batch(REVERSIBLE)
    states, maps = model.hidden_states(*batch[:3]), model.attention_maps(*batch[:3])
    tokens = batch.attention_mask == 1
    assert len(states) == REVERSIBLE.num_hidden_layers + 1
    assert len(maps) == REVERSIBLE.num_hidden_layers
    for layers in range(1, len(states)):
        shorter = Albert(REVERSIBLE.replace(num_hidden_layers=layers), model.params)
        np.testing.assert_allclose(states[layers][tokens], shorter.encode(*batch[:3])[0][tokens], rtol=1e-12)
        assert np.array_equal(maps[layers - 1], shorter.attention_maps(*batch[:3])[-1])
    for probs in maps:
        np.testing.assert_allclose(probs.sum(axis=-1), 1.0, rtol=1e-12)
    assert not np.allclose(maps[0], maps[1])


def test_an_encoding_has_its_way_back():
    model, batch = Albert(REVERSIBLE, hard_params(REVERSIBLE)), hard_batch(REVERSIBLE)
    encoding = model.forward(*batch[:3])
    assert np.array_equal(encoding.hidden, model.encode(*batch[:3])[0])
    dhidden = np.random.default_rng(0).standard_normal(encoding.hidden.shape)
    grads = encoding.backward(dhidden)
    step, name = 1e-6, "encoder.ffn.down.w"
    direction = np.random.default_rng(1).standard_normal(grads[name].shape)

    def loss(h):
        moved = model.copy()
        moved.params[name][...] += h * direction
        return (dhidden * moved.encode(*batch[:3])[0]).sum()

    assert (loss(step) - loss(-step)) / (2 * step) == pytest.approx((grads[name] * direction).sum(), rel=1e-7)


def test_what_is_kept_does_not_grow_with_the_layers():
    B, T = 4, 64
    config = PRESETS["mini"].replace(reversible=True, vocab_size=1000)
    batch = Batch.random(config, B, T, 8)

    def kept_and_peaks(layers):
        """After forward, the most during it, and the most during backward."""
        params = Albert.init(config).params
        grads, deep = params.zeros_like(), config.replace(num_hidden_layers=layers)
        ctx = PLAIN.context(PLAIN, deep, params, batch.attention_mask)
        gc.collect()
        tracemalloc.start()
        _, cache = pretraining_forward(batch, ctx)
        kept, forward = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        pretraining_backward(cache, ctx, grads)
        _, backward = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return kept, forward, backward

    kept_and_peaks(1)
    few, many = kept_and_peaks(3), kept_and_peaks(9)
    for kept, more in zip(few, many, strict=True):
        assert more - kept < 0.01 * B * T * config.hidden_size * 4


def test_the_error_of_reconstruction_is_seen_where_the_streams_began():
    """float32, 24 layers: the true error of what the first layer received, and the streams' difference."""
    config = PRESETS["tiny"].replace(num_hidden_layers=24, reversible=True)
    model = Albert.init(config)
    batch = Batch.random(config, 8, 32, 4)
    ctx = PLAIN.context(PLAIN, config, model.params, batch.attention_mask)
    x, _ = PLAIN.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    _, (x1, x2, _) = reversible.reversible_forward(x, ctx)
    for layer in reversed(range(23)):
        x1, x2, _ = reversible_block_inputs(x1, x2, layer, ctx)
    error = np.sqrt((np.linalg.norm(x1 - x) ** 2 + np.linalg.norm(x2 - x) ** 2) / np.linalg.norm(x) ** 2)
    assert 1e-6 < error < 1e-4
    assert 0.5 < reversible.streams_apart(x1, x2) / error < 2


def test_a_warning_where_the_error_is_too_large(monkeypatch):
    model, batch = Albert.init(PRESETS["tiny"].replace(reversible=True)), Batch.random(PRESETS["tiny"], 2, 8, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.loss_and_grads(batch)
    monkeypatch.setattr(reversible, "LARGEST_ERROR", 1e-9)
    with pytest.warns(UserWarning, match=r"3 reversible layers .* in float32 .* float64") as caught:
        model.loss_and_grads(batch)
    assert len(caught) == 1


@pytest.mark.parametrize("kernels", ["fused", "compiled"])
def test_the_other_kernels_refuse_them(kernels):
    with pytest.raises(ConfigError, match=f"'{kernels}'.*reversible.*'plain'") as error:
        Albert.init(TINY.replace(reversible=True), kernels=kernels)
    assert "\n" not in str(error.value)


def test_halves_of_ones_own_have_no_place_in_them():
    own = PLAIN._replace(ffn_half=PLAIN.attention_half)
    with pytest.raises(ConfigError, match=r"attention_half or an ffn_half .* reversible"):
        Albert.init(TINY.replace(reversible=True), pairs=own)
    Albert.init(TINY.replace(reversible=True), pairs=PLAIN._replace(mlm_loss=PLAIN.sop_loss))


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_reversible_is_true_or_false(value):
    with pytest.raises(ConfigError, match=f"reversible is {value!r}; it must be True or False"):
        TINY.replace(reversible=value)


def test_only_a_reversible_model_says_so_in_its_file(tmp_path):
    for config in (TINY, TINY.replace(reversible=True)):
        Albert.init(config).save_pretrained(tmp_path)
        assert Albert.from_pretrained(tmp_path).config == config
        assert ("reversible" in (tmp_path / "config.json").read_text()) == config.reversible
