"""What a researcher asks of `Albert`: own losses and heads, many texts, chosen layers, copies; and bad input."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from minalbert import PLAIN, PRESETS, Albert, Batch, DropoutKey, Pair, Params
from minalbert.errors import ConfigError, InputError
from minalbert.fused import fused_pairs
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.optim import AdamW, Lamb, Moments

KEY = DropoutKey(5, 2)
DROPPED = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
TEXTS = [[2, 5, 3], [2, 4, 6, 7, 3], [2, 3], [2, 9, 8, 3]]


def model(**compute):
    return Albert(DROPPED, hard_params(DROPPED), **compute)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
def test_a_loss_of_ones_own_has_the_gradient_of_its_slope(kernels):
    """The sum of squares of pooled and hidden, by central differences along a random direction."""
    albert, ids = model(kernels=kernels), hard_batch(DROPPED).input_ids
    out = albert.forward(ids, dropout=KEY)
    grads = albert.params.zeros_like()
    assert out.backward(dhidden=2 * out.hidden, dpooled=2 * out.pooled, into=grads) is grads
    direction, start, h = np.random.default_rng(1).standard_normal(grads.flat.size), albert.params.flat.copy(), 1e-5

    def loss(steps):
        albert.params.flat[...] = start + steps * h * direction
        moved = albert.forward(ids, dropout=KEY)
        return float((moved.hidden**2).sum() + (moved.pooled**2).sum())

    slope = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * h)
    assert float(grads.flat @ direction) == pytest.approx(slope, rel=1e-7)


def test_what_the_user_does_to_the_results_leaves_the_gradient_alone():
    ids, dpooled = hard_batch(DROPPED).input_ids, np.ones((3, 6))
    expected = model().forward(ids).backward(dpooled=dpooled).flat
    out = model().forward(ids)
    out.pooled *= 0.5
    out.hidden *= 0.5
    np.testing.assert_array_equal(out.backward(dpooled=dpooled).flat, expected)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
def test_passes_may_be_open_at_the_same_time(kernels):
    albert, first, second = model(kernels=kernels), [[2, 5, 3]], [[2, 9, 8, 3]]
    dpooled = np.ones((1, 6))
    expected = [albert.forward(ids).backward(dpooled=dpooled).flat.copy() for ids in (first, second)]
    passes = [albert.forward(ids) for ids in (first, second)]
    albert.loss_and_grads(hard_batch(DROPPED))
    for out, grads in zip(passes, expected, strict=True):
        np.testing.assert_array_equal(out.backward(dpooled=dpooled).flat, grads)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_texts_of_many_lengths_come_back_in_order(kernels, batch_size):
    albert = model(kernels=kernels)
    alone = [albert.hidden_states([ids]) for ids in TEXTS]
    firsts = albert.encode_many(TEXTS, batch_size=batch_size)
    means = albert.encode_many(TEXTS, batch_size=batch_size, layers=(0, -1), pool="mean")
    tokens = albert.encode_many(TEXTS, batch_size=batch_size, layers=1, pool=None)
    pooled = albert.encode_many(TEXTS, batch_size=batch_size, pool="pooler")
    for i, states in enumerate(alone):
        np.testing.assert_allclose(firsts[i], states[-1][0, 0], atol=1e-12)
        np.testing.assert_allclose(means[i], [states[0][0].mean(axis=0), states[-1][0].mean(axis=0)], atol=1e-12)
        np.testing.assert_allclose(tokens[i], states[1][0], atol=1e-12)
        np.testing.assert_allclose(pooled[i], albert.encode([TEXTS[i]])[1][0], atol=1e-12)


def test_chosen_layers():
    albert, ids = model(), hard_batch(DROPPED).input_ids
    states, maps = albert.hidden_states(ids), albert.attention_maps(ids)
    assert [len(states), len(maps)] == [4, 3]
    for layers, chosen in (([1, -1], [1, 3]), (0, [0]), ((i for i in (2, 1)), [2, 1])):
        for found, number in zip(albert.hidden_states(ids, layers=layers), chosen, strict=True):
            np.testing.assert_array_equal(found, states[number])
    np.testing.assert_array_equal(albert.attention_maps(ids, layers=[-1])[0], maps[2])


def test_weights_of_the_losses():
    albert, batch = model(), hard_batch(DROPPED)
    (_, mlm), (_, sop) = (albert.loss_and_grads(batch, weights=weights) for weights in ((1, 0), (0, 1)))
    losses, both = albert.loss_and_grads(batch, weights=(0.5, 2.0))
    np.testing.assert_allclose(both.flat, 0.5 * mlm.flat + 2.0 * sop.flat, atol=1e-13)
    assert albert.loss(batch, weights=(0.5, 2.0)).total == pytest.approx(float(losses.total), rel=1e-14)


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb()], ids=["AdamW", "Lamb"])
def test_frozen_tensors_keep_their_bits(optimiser):
    albert = model()
    _, grads = albert.loss_and_grads(hard_batch(DROPPED))
    before, moments, names = albert.params.copy(), Moments.zeros(albert.params), albert.params.select("mlm.").names
    optimiser.step(albert.params, grads, moments, 0.1, 1, only=names)
    for name, tensor in albert.params.items():
        assert np.array_equal(tensor, before[name]) == (name not in names)
        assert moments.m[name].any() == (name in names and grads[name].any())


def test_copies_are_independent():
    albert = model()
    for other in (albert.copy(), albert.to("cpu"), copy.deepcopy(albert), pickle.loads(pickle.dumps(albert))):
        np.testing.assert_array_equal(other.params.flat, albert.params.flat)
        other.params.flat += 1
        assert not np.array_equal(other.params.flat, albert.params.flat)
    assert albert.copy(kernels="fused").compute.kernels == "fused"


def test_a_copy_keeps_own_pairs_while_its_kernels_are_plain():
    own = PLAIN._replace(ffn_half=Pair(*PLAIN.ffn_half))
    albert = model(pairs=own)
    assert albert.copy().pairs is own
    assert albert.copy(kernels="plain").pairs is own
    assert albert.copy(kernels="fused").pairs is not own


def child(albert, batch, results):
    results.put(float(albert.loss_and_grads(batch)[0].total))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_model_that_used_its_threads_works_in_a_forked_process(monkeypatch):
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_MORE", 1)
    albert, batch = model(), hard_batch(DROPPED)
    expected, context = float(albert.loss_and_grads(batch)[0].total), multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=child, args=(albert, batch, results))
    process.start()
    try:
        assert results.get(timeout=60) == expected
    finally:
        process.kill()


def with_other_order(params):
    return type(params).zeros(dict(reversed(params.shapes.items())), params.dtype)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, b: m.loss_and_grads(b, weights=(1, float("nan"))), "weights is .*; it must be two numbers"),
        (lambda m, b: m.loss_and_grads(b, weights=(1, 2, 3)), "it must be two numbers"),
        (lambda m, b: m.loss(b, weights="ab"), "it must be two numbers"),
        (lambda m, b: m.loss_and_grads(b, into=m.params), "and not those themselves"),
        (lambda m, b: m.loss_and_grads(b, into=Params(m.params.flat[:], m.params.shapes)), "and not those themselves"),
        (lambda m, b: m.accumulate([b, b], into=m.params), "and not those themselves"),
        (lambda m, b: m.loss_and_grads(b, into=with_other_order(m.params)), "must be like the model's own"),
        (lambda m, b: m.forward(b.input_ids).backward(np.ones((3, 5, 6)), into=m.params), "and not those themselves"),
        (lambda m, b: m.forward(b.input_ids).backward(dhidden=1.0), "dhidden is 1.0; it must be an array of numbers"),
        (lambda m, b: m.forward(b.input_ids).backward(dpooled=np.ones(3)), r"dpooled has shape \(3,\); it must be"),
        (lambda m, b: m.forward(b.input_ids).backward(), "backward needs dhidden, dpooled or both"),
        (lambda m, b: m.forward(b.input_ids, dropout=3), "dropout is an int; it must be a DropoutKey"),
        (lambda m, b: m.hidden_states(b.input_ids, layers=[1.5]), "each must be a whole number in -4..3"),
        (lambda m, b: m.attention_maps(b.input_ids, layers=[3]), "each must be a whole number in -3..2"),
        (lambda m, b: m.encode_many([]), "a list of lists of ids, at least one"),
        (lambda m, b: m.encode_many([2, 3]), "a list of lists of ids"),
        (lambda m, b: m.encode_many([[1.7]]), "ids, which are whole numbers"),
        (lambda m, b: m.encode_many(TEXTS, batch_size=0), "batch_size is 0; it must be a whole number, at least 1"),
        (lambda m, b: m.encode_many(TEXTS, pool="max"), "pool is 'max'; it must be one of: 'first', 'mean', 'pooler'"),
        (lambda m, b: m.encode_many(TEXTS, pool="pooler", layers=0), "reads its last layer"),
        (lambda m, b: m.accumulate([]), "a list of at least one Batch"),
        (lambda m, b: Batch.pad([[1, 2], []]), "at least one id in each"),
        (lambda m, b: Batch.pad([[1, 2]], [[0]]), "must have a type for each id"),
    ],
)
def test_a_wrong_call_gets_one_clear_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(model(), hard_batch(DROPPED))


def test_backward_is_called_once():
    out = model().forward([[2, 3]])
    out.backward(dpooled=np.ones((1, 6)))
    with pytest.raises(InputError, match="backward was called already"):
        out.backward(dpooled=np.ones((1, 6)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Albert.init(PRESETS["tiny"], seed=-1), "seed is -1; it must be a whole number, at least 0"),
        (lambda: Albert.init(PRESETS["tiny"], kernals="fused"), "did you mean 'kernels'"),
        (lambda: model(pairs=fused_pairs()), "pairs must be PLAIN with some of its pairs replaced"),
        (lambda: model(pairs=PLAIN, kernels="fused"), "and kernels must be 'plain'"),
        (lambda: model(precision="bf16"), "precision 'bf16' needs kernels 'fused' or 'compiled'"),
        (lambda: model(pairs=PLAIN._replace(attention_half=Pair(*PLAIN.attention_half))).attention_maps([[2, 3]]),
         "attention_maps reads the plain attention half; this model has another"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_is_refused(call, sentence):
    with pytest.raises(ConfigError, match=sentence):
        call()


def test_a_model_gets_heads_for_a_task():
    model = Albert.init(PRESETS["tiny"], seed=1)
    other = model.with_heads(("pooler", "classifier"), outputs=3, seed=2)
    assert set(other.params) - set(model.params) == {"classifier.w", "classifier.b"}
    assert not {"mlm.bias", "sop.b"} & set(other.params)
    assert all(np.array_equal(other.params[name], model.params[name]) for name in set(other.params) & set(model.params))
    assert other.params["classifier.w"].shape == (PRESETS["tiny"].hidden_size, 3)
    assert other.params["classifier.w"].any()
    again = other.with_heads(("pooler", "classifier"), outputs=3, seed=3)
    assert np.array_equal(again.params.flat, other.params.flat)
    assert not np.shares_memory(again.params.flat, other.params.flat)
    assert other.with_heads(("classifier",), outputs=4).params["classifier.b"].shape == (4,)
    with pytest.raises(ConfigError, match="heads names 'clasifier'; did you mean 'classifier'"):
        model.with_heads(("clasifier",))
