"""The model's promises: sharing, recomputation, accumulation, the losses, and what it says to bad input."""

import math

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Batch, DropoutKey, Totals
from minalbert.backend import to_host
from minalbert.errors import ConfigError, InputError
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params, model_cases
from minalbert.model import PLAIN, block, encoder, pretraining_backward, pretraining_forward
from minalbert.params import half_name

DROPPED = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
KEY = DropoutKey(seed=5, step=2)


def hard_model(config=TINY, seed=0):
    return Albert(config, hard_params(config, seed=seed))


@pytest.mark.parametrize("case", model_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradient_along_random_directions(case, seed):
    case.check(entries=False, seed=seed).check()


def unshared_twin(config, params):
    """The same function with every layer's weights written out."""
    twin = config.replace(sharing="none")
    copies = hard_params(twin)
    for name in copies:
        _, *place = name.split(".")
        if name.startswith("encoder."):
            part, layer, *rest = place
            copies[name][...] = params[".".join([half_name(config, part, int(layer)), *rest])]
        else:
            copies[name][...] = params[name]
    return Albert(twin, copies)


@pytest.mark.parametrize("changes", [{}, {"sharing": "attention"}, {"sharing": "ffn"},
                                     {"num_hidden_layers": 6, "num_hidden_groups": 2},
                                     {"num_hidden_layers": 5, "num_hidden_groups": 3}], ids=str)  # fmt: skip
def test_shared_gradient_is_the_sum_over_unshared_copies(changes):
    config = TINY.replace(**changes)
    model, batch = hard_model(config), hard_batch(config)
    twin = unshared_twin(config, model.params)
    losses, grads = model.loss_and_grads(batch)
    twin_losses, twin_grads = twin.loss_and_grads(batch)
    assert losses == twin_losses

    expected = model.params.zeros_like()
    for name, grad in twin_grads.items():
        part, *rest = name.split(".")
        if part == "encoder":
            name = ".".join([half_name(config, rest[0], int(rest[1])), *rest[2:]])
        expected[name] += grad
    scale = np.abs(expected.flat).max()
    for name in grads:
        np.testing.assert_allclose(grads[name], expected[name], rtol=1e-12, atol=1e-12 * scale, err_msg=name)


def test_groups_are_runs_of_layers_by_whole_numbers():
    assert [TINY.replace(num_hidden_layers=7, num_hidden_groups=3).group_of("ffn", i) for i in range(7)] == [
        0, 0, 0, 1, 1, 2, 2,
    ]  # fmt: skip
    for layers in (22, 23, 26):  # where the released code's floats slip
        config = TINY.replace(num_hidden_layers=layers, num_hidden_groups=layers)
        assert [config.group_of("ffn", i) for i in range(layers)] == list(range(layers))


@pytest.mark.parametrize("recompute", [True, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("key", [None, KEY], ids=["without dropout", "with dropout"])
def test_recomputing_changes_no_bit(key, recompute, device):
    config = DROPPED.replace(num_hidden_layers=5)
    model, batch = Albert.init(config, device=device), hard_batch(config)
    losses, grads = model.loss_and_grads(batch, key)
    losses_again, grads_again = model.loss_and_grads(batch, key, recompute=recompute)
    assert [float(loss) for loss in losses] == [float(loss) for loss in losses_again]
    if device == "cpu":  # a GPU adds scattered rows in any order
        assert np.array_equal(grads.flat, grads_again.flat)
    else:
        np.testing.assert_allclose(to_host(grads_again.flat), to_host(grads.flat), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize(("recompute", "runs", "kept"), [(True, 10, 5), (2, 10, 3), (3, 10, 2), (5, 10, 1)])
def test_recomputing_keeps_every_kth_input_and_runs_each_layer_twice(recompute, runs, kept, kernels, monkeypatch):
    config, layers = TINY.replace(num_hidden_layers=5), []
    model, batch = Albert(config, hard_params(config), kernels=kernels), hard_batch(config)

    def counted(x, layer, ctx, positions=None):
        layers.append(layer)
        return block.block_forward(x, layer, ctx, positions)

    monkeypatch.setattr(encoder, "block_forward", counted)
    ctx = model.pairs.context(model.pairs, config, model.params, batch.attention_mask, None,
                              model.pairs.memory(model.params))  # fmt: skip
    x, _ = model.pairs.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    y, cache = encoder.encoder_forward(x, ctx, recompute)
    assert layers == [0, 1, 2, 3, 4]
    assert len(cache[0]) == kept
    encoder.encoder_backward(ctx.from_params_dtype(y), cache, ctx, model.params.zeros_like())
    assert len(layers) == runs
    k = int(recompute)
    assert layers[5:] == [layer for first in reversed(range(0, 5, k)) for layer in range(first, min(first + k, 5))]


@pytest.mark.parametrize("recompute", [-1, 4, 1.0, "all", None])
def test_how_often_to_keep_a_layer_is_a_number_of_layers(recompute):
    model, batch = hard_model(), hard_batch(TINY)
    sentence = f"recompute is {recompute!r}; it must be True, False or a whole number of layers from 1 to 3"
    for call in (lambda: model.loss_and_grads(batch, recompute=recompute),
                 lambda: model.accumulate([batch], recompute=recompute),
                 lambda: model.forward(*batch[:3], recompute=recompute)):  # fmt: skip
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value) == sentence


def test_dropout_needs_a_key_and_obeys_it():
    model, batch = hard_model(DROPPED), hard_batch(DROPPED)
    calm, first, again, other = (model.loss_and_grads(batch, key)[0].total for key in (None, KEY, KEY, KEY.at(step=3)))
    assert first == again
    assert len({float(calm), float(first), float(other)}) == 3
    assert calm == hard_model(TINY).loss_and_grads(batch)[0].total


def test_slices_of_a_batch_add_up_to_the_whole():
    model, batch = hard_model(), hard_batch(TINY)
    totals = Totals(targets=batch.mlm_weights.sum(), sequences=len(batch.input_ids))
    losses, grads = model.loss_and_grads(batch)
    pieces, into = [], model.params.zeros_like()
    for part in (slice(0, 1), slice(1, 3)):
        loss, into = model.loss_and_grads(Batch(*(x[part] for x in batch)), into=into, totals=totals)
        pieces.append(loss.total)
    assert sum(pieces) == pytest.approx(float(losses.total), rel=1e-14)
    np.testing.assert_allclose(into.flat, grads.flat, rtol=1e-11, atol=1e-13)


def test_padding_is_invisible():
    model, batch = hard_model(), hard_batch(TINY)
    wider = [np.pad(x, ((0, 0), (0, 2))) for x in batch[:3]]
    hidden, pooled = model.encode(*batch[:3])
    hidden_wide, pooled_wide = model.encode(*wider)
    np.testing.assert_allclose(pooled_wide, pooled, rtol=1e-12)
    real = batch.attention_mask.astype(bool)
    np.testing.assert_allclose(hidden_wide[:, : hidden.shape[1]][real], hidden[real], rtol=1e-12)


def test_encode_fills_in_what_is_left_out():
    model, ids = hard_model(), [[1, 2, 3], [4, 5, 6]]
    hidden, pooled = model.encode(ids)
    assert hidden.shape == (2, 3, TINY.hidden_size)
    assert pooled.shape == (2, TINY.hidden_size)
    explicit, _ = model.encode(np.array(ids), np.ones((2, 3), bool), np.zeros((2, 3), int))
    assert np.array_equal(hidden, explicit)
    states = model.hidden_states(ids)
    assert len(states) == TINY.num_hidden_layers + 1
    assert np.array_equal(states[-1], hidden)


def test_a_batch_without_targets_costs_nothing():
    batch = hard_batch(TINY)._replace(mlm_weights=np.zeros((3, 3)))
    losses, grads = hard_model().loss_and_grads(batch)
    assert losses.mlm == 0
    assert losses.total == losses.sop
    assert np.isfinite(grads.flat).all()
    assert not grads["mlm.bias"].any()


def test_a_sequence_of_padding_alone_stays_finite():
    batch = hard_batch(TINY)
    mask = batch.attention_mask.copy()
    mask[1] = 0
    losses, grads = hard_model().loss_and_grads(batch._replace(attention_mask=mask))
    assert np.isfinite(losses.total)
    assert np.isfinite(grads.flat).all()


def test_a_fresh_model_knows_nothing():
    """Its losses are those of guesses: ln V for a word, ln 2 for an order."""
    config = PRESETS["tiny"].replace(initializer_range=0.02)
    losses = Albert.init(config).loss(Batch.random(config, 64, 32, 5))
    assert float(losses.mlm) == pytest.approx(math.log(config.vocab_size), rel=0.01)
    assert float(losses.sop) == pytest.approx(math.log(2), rel=0.05)


def test_one_batch_can_be_learnt_by_heart(device):
    config = PRESETS["tiny"]
    model, batch = Albert.init(config, device=device), Batch.random(config, 4, 12, 3)
    first = float(model.loss(batch).total)
    for _ in range(100):
        _, grads = model.loss_and_grads(batch)
        model.params.flat -= 0.05 * grads.flat
    assert float(model.loss(batch).total) < 0.02 * first


def test_device_parity_of_the_whole_model(device):
    config = DROPPED
    batch, params = hard_batch(config), hard_params(config)
    losses, grads = Albert(config, params).loss_and_grads(batch, KEY)
    moved = Albert(config, params).to(device)
    losses_there, grads_there = moved.loss_and_grads(batch, KEY)
    assert moved.params.device == device
    assert [float(x) for x in losses_there] == pytest.approx([float(x) for x in losses], rel=1e-11)
    np.testing.assert_allclose(to_host(grads_there.flat), grads.flat, rtol=1e-9, atol=1e-12)


def test_a_model_has_the_heads_it_was_given():
    batch = hard_batch(TINY)
    mlm_alone = Albert.init(TINY, heads=("mlm",))
    losses, _ = mlm_alone.loss_and_grads(batch)
    assert losses.sop is None
    assert losses.total == losses.mlm
    hidden, pooled = mlm_alone.encode(batch.input_ids)
    assert pooled is None
    assert mlm_alone.mlm_logits(hidden).shape == (3, 5, TINY.vocab_size)
    with pytest.raises(InputError, match="no sop head"):
        mlm_alone.sop_logits(hidden[:, 0])
    with pytest.raises(InputError, match="neither an mlm nor a sop head"):
        Albert.init(TINY, heads=("pooler",)).loss_and_grads(batch)
    with pytest.raises(ConfigError, match="sop head reads the pooler"):
        Albert.init(TINY, heads=("sop",))
    with pytest.raises(ConfigError, match="'nsp'"):
        Albert.init(TINY, heads=("nsp",))


def test_logits_at_positions_are_those_of_everywhere():
    model, batch = hard_model(), hard_batch(TINY)
    hidden, pooled = model.encode(*batch[:3])
    some, everywhere = model.mlm_logits(hidden, batch.mlm_positions), model.mlm_logits(hidden)
    for b, p in np.ndindex(3, 3):
        np.testing.assert_allclose(some[b, p], everywhere[b, batch.mlm_positions[b, p]], rtol=1e-13)
    assert model.sop_logits(pooled).shape == (3, 2)


def test_truth_values_and_unsigned_numbers_are_read_as_numbers():
    model, batch = hard_model(), hard_batch(TINY)
    kinds = ("uint8", "bool", "bool", "uint64", "uint16", "float32", "bool")
    same = Batch(*(x.astype(kind) for x, kind in zip(batch, kinds, strict=True)))
    assert np.array_equal(model.loss_and_grads(same)[1].flat, model.loss_and_grads(batch)[1].flat)
    assert np.array_equal(model.encode(*same[:3])[0], model.encode(*batch[:3])[0])


def test_a_cache_serves_one_backward_pass():
    model, batch = hard_model(), hard_batch(TINY)
    ctx = PLAIN.context(PLAIN, TINY, model.params, batch.attention_mask)
    _, cache = pretraining_forward(batch, ctx)
    pretraining_backward(cache, ctx, model.params.zeros_like())
    with pytest.raises(ValueError, match="used up by an earlier backward pass"):
        pretraining_backward(cache, ctx, model.params.zeros_like())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda m, b: m.mlm_logits(m.encode(b.input_ids)[0], [[0], [5], [0]]),
            r"positions\[1, 0\] is 5; it must lie in 0..4",
        ),
        (lambda m, b: m.mlm_logits(m.encode(b.input_ids)[0], [[0], [-1], [0]]), "is -1; it must lie in 0..4"),
        (lambda m, b: m.mlm_logits(m.encode(b.input_ids)[0], [0, 1, 2]), r"shape \(3,\); it must be \(3, 3\)"),
        (lambda m, b: m.sop_logits(m.encode(b.input_ids)[0]), r"pooled has shape \(3, 5, 6\); it must be \(any, 6\)"),
        (lambda m, b: m.encode([[1, 2], [3]]), "the sequences differ in length; pad them"),
        (lambda m, b: m.loss(tuple(b)), "batch is a tuple; it must be a Batch"),
        (lambda m, b: m.loss_and_grads(b, dropout=0), "dropout is an int; it must be a DropoutKey"),
        (lambda m, b: m.loss_and_grads(b, totals=(1, 2)), "totals is a tuple; it must be a Totals"),
        (lambda m, b: m.loss(b, totals=Totals(0, 3)), "totals.targets is 0; it must be a number, above 0"),
        (lambda m, b: m.loss_and_grads(b, into=Albert.init(PRESETS["tiny"]).params), "it must be like the model's own"),
        (lambda m, b: m.loss_and_grads(b, into=m.params.astype("float32")), "it must be like the model's own"),
        (lambda m, b: m.loss(b._replace(mlm_weights=np.full((3, 3), np.nan))), "negative, infinite or not a number"),
        (lambda m, b: m.loss(b._replace(mlm_weights=-b.mlm_weights)), "negative, infinite or not a number"),
        (lambda m, b: Batch.random(TINY, 0, 5, 2), "size is 0; it must be a whole number, at least 1"),
        (lambda m, b: Batch.random(TINY, 2, 5, 6), "predictions is 6; it must be a whole number, from 1 to 5"),
    ],
)
def test_a_wrong_call_gets_one_clear_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(hard_model(), hard_batch(TINY))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Albert.init("tiny"), r"config is 'tiny'; it must be an AlbertConfig, such as PRESETS\['tiny'\]"),
        (lambda: Albert.init(TINY, heads="mlm"), r"heads is 'mlm'; it must be a tuple of names"),
        (lambda: Albert(PRESETS["mini"], hard_params(TINY)), "params has other names or shapes than this config"),
    ],
)
def test_a_model_that_cannot_be_is_refused(call, sentence):
    with pytest.raises(ConfigError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("input_ids", np.full((3, 5), 11), r"input_ids\[0, 0\] is 11; it must lie in 0..10"),
        ("input_ids", np.full((3, 5), -1), r"input_ids\[0, 0\] is -1"),
        ("input_ids", np.ones((3, 5)), "dtype float64; it must hold whole numbers"),
        ("input_ids", np.ones((3, 8), int), "8 tokens a sequence; the model has positions for 7"),
        ("input_ids", np.ones(5, int), r"shape \(5,\); it must be \(sequences, tokens\)"),
        ("input_ids", np.ones((3, 0), int), r"shape \(3, 0\)"),
        ("attention_mask", np.ones((3, 4), int), r"attention_mask has shape \(3, 4\); it must be \(3, 5\)"),
        ("attention_mask", np.full((3, 5), 2), "1 for a token, 0 for padding"),
        ("token_type_ids", np.full((3, 5), 2), "token_type_ids.* is 2; it must lie in 0..1"),
        ("mlm_positions", np.full((3, 3), 5), "mlm_positions.* is 5; it must lie in 0..4"),
        ("mlm_labels", np.full((3, 3), -100), "mlm_labels.* is -100; it must lie in 0..10"),
        ("mlm_weights", np.ones((3, 2)), r"mlm_weights has shape \(3, 2\); it must be \(3, 3\)"),
        ("sop_labels", np.array([0, 1, 2]), r"sop_labels\[2\] is 2"),
        ("sop_labels", np.array([0, 1]), r"sop_labels has shape \(2,\); it must be \(3,\)"),
    ],
)
def test_bad_input_gets_one_clear_sentence(field, value, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        hard_model().loss_and_grads(hard_batch(TINY)._replace(**{field: value}))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hidden_size": 10, "num_attention_heads": 3}, "hidden_size 10 cannot be split evenly over 3 heads"),
        ({"num_hidden_groups": 4}, "num_hidden_groups is 4, more than the 3 layers"),
        ({"sharing": "some"}, "sharing is 'some'; it must be one of: all, attention, ffn, none"),
        ({"hidden_act": "swish"}, "hidden_act is 'swish'; it must be one of: gelu_new"),
        ({"vocab_size": 0}, "vocab_size is 0; it must be a whole number, at least 1"),
        ({"vocab_size": 3.5}, "vocab_size is 3.5"),
        ({"num_hidden_layers": True}, "num_hidden_layers is True; it must be a whole number"),
        ({"layer_norm_eps": float("inf")}, "layer_norm_eps is inf; it must be a number, at least 0"),
        ({"hidden_act": ["gelu"]}, r"hidden_act is \['gelu'\]; it must be one of: gelu_new"),
        ({"embedding_projection": "x"}, "embedding_projection is 'x'; it must be one of: True, False, None"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob is 1.0; it must be a number, at least 0 and below 1"),
        ({"hidden_dropout_prob": -0.1}, "hidden_dropout_prob is -0.1; it must be a number, at least 0"),
        ({"embedding_projection": False}, "embedding_size 4 differs from hidden_size 6"),
    ],
)
def test_an_impossible_config_says_what_would_be_right(changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        TINY.replace(**changes)


def test_presets_are_what_the_paper_says():
    rows = {name: (c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.intermediate_size, c.embedding_size)
            for name, c in PRESETS.items()}  # fmt: skip
    for version in ("v1", "v2"):
        assert rows[f"albert-base-{version}"] == (12, 768, 12, 3072, 128)
        assert rows[f"albert-large-{version}"] == (24, 1024, 16, 4096, 128)
        assert rows[f"albert-xlarge-{version}"] == (24, 2048, 16, 8192, 128)
        assert rows[f"albert-xxlarge-{version}"] == (12, 4096, 64, 16384, 128)
    assert rows["bert-base"] == (12, 768, 12, 3072, 768)
    assert rows["bert-large"] == (24, 1024, 16, 4096, 1024)
    assert {n: c.hidden_dropout_prob for n, c in PRESETS.items() if "albert" in n} == {
        f"albert-{size}-{version}": 0.1 if version == "v1" and size != "xxlarge" else 0.0
        for size in ("base", "large", "xlarge", "xxlarge")
        for version in ("v1", "v2")
    }
    assert AlbertConfig() == PRESETS["albert-base-v2"]
