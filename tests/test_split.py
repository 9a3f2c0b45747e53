"""A model that ranks share is the model of one process: losses, gradients, steps, runs. The ranks are threads here."""

import numpy as np
import pytest
from counting import Counting
from fingerprint import fingerprint
from test_finetune import OBJECTIVES, in_slices, model_for
from test_implementations import KEY, SHAPES, TINY, passed
from thread_ranks import on_threads

from minalbert import Albert, Batch, DropoutKey, Totals
from minalbert.analysis.traffic import bytes_of_step
from minalbert.backend import dropout_mask
from minalbert.errors import ConfigError
from minalbert.gradcheck.cases import hard_batch, hard_params
from minalbert.model import PLAIN
from minalbert.optim import AdamW, Lamb, Moments, global_norm
from minalbert.parallel import ALONE, UNSHARED, SharedStep, TensorShares, Workers
from minalbert.split import check_split, model_share, norm_over, optimiser_over, share_of, whole_of
from minalbert.split.weights import axis_of
from minalbert.tasks.gradient import gradient_function

SIZES = {
    "hidden_size": 12,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "vocab_size": 13,
}  # words need no multiple
DROPOUT = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}
SMALL = TINY.replace(**SIZES, **DROPOUT, embedding_size=5)
CONFIGS = {
    name: config.replace(**SIZES, **DROPOUT, embedding_size=12 if config.embedding_size == TINY.hidden_size else 5)
    for name, config in SHAPES.items()
}
LIMIT = 1e-12


def split_pass(ranks, config, params, batch, **options):
    """The losses, the whole gradient, and a hash of the gradients that every rank has whole."""
    own = model_share(config, params, ranks)
    losses, grads = passed(own.pairs, config, own.params, batch, **options)
    every = b"".join(grads[name].tobytes() for name in grads if axis_of(name) is None)
    return losses, whole_of(grads, params.shapes, ranks), fingerprint(np.frombuffer(every))


def assert_close(grads, expected):
    scale = np.abs(expected.flat).max()
    for name in expected:
        np.testing.assert_allclose(grads[name], expected[name], rtol=0, atol=LIMIT * scale, err_msg=name)


def assert_alike(answers, expected):
    """Every rank's losses and gradient are those of one process, and what all ranks have is the same bits on each."""
    for losses, grads, every in answers:
        assert (losses, every) == (answers[0][0], answers[0][2])
        np.testing.assert_allclose(losses, expected[0], rtol=LIMIT)
        assert_close(grads, expected[1])


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("key", [None, KEY], ids=["no dropout", "dropout"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_losses_and_gradients_are_those_of_one_process(config, key, count):
    params, batch, totals = hard_params(config), hard_batch(config), Totals(targets=40.0, sequences=11.0)
    options = {"key": key, "totals": totals, "weights": (0.7, 1.3)}
    expected = passed(PLAIN, config, params, batch, **options)
    assert_alike(on_threads(count, lambda ranks: split_pass(ranks, config, params, batch, **options)), expected)


@pytest.mark.parametrize("recompute", [True, 2])
def test_recomputing_changes_no_bit(recompute):
    def both(ranks):
        params, batch = hard_params(SMALL), hard_batch(SMALL)
        found = [split_pass(ranks, SMALL, params, batch, key=KEY, recompute=way)[1] for way in (False, recompute)]
        return [fingerprint(grads.flat) for grads in found]

    for kept, again in on_threads(2, both):
        assert kept == again


def test_a_batch_without_a_target_has_no_mlm_loss():
    params, batch = hard_params(SMALL), hard_batch(SMALL)
    batch = batch._replace(mlm_weights=0 * batch.mlm_weights)
    expected = passed(PLAIN, SMALL, params, batch)
    assert expected[0][0] == 0
    assert_alike(on_threads(2, lambda ranks: split_pass(ranks, SMALL, params, batch)), expected)


def test_logits_that_exp_cannot_hold():
    params, batch = hard_params(SMALL), hard_batch(SMALL)
    params["mlm.bias"][...] = np.linspace(-900, 900, 13)
    expected = passed(PLAIN, SMALL, params, batch)
    assert_alike(on_threads(4, lambda ranks: split_pass(ranks, SMALL, params, batch)), expected)


@pytest.mark.parametrize("shape", [(3, 4, 5, 7), (2, 8, 4, 4), (1, 4, 1, 3)])
def test_shares_of_a_dropout_mask_are_the_mask(shape):
    x, key = np.zeros(shape), DropoutKey(3, 7, layer=2, site=1, example=9)
    whole, _ = dropout_mask(x, 0.3, key)
    for count in (1, 2, 4):
        heads = np.split(x, count, axis=1)
        masks = [dropout_mask(part, 0.3, key.at(share=i, shares=count))[0] for i, part in enumerate(heads)]
        np.testing.assert_array_equal(np.concatenate(masks, axis=1), whole)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_shares_make_the_whole(count):
    params = Albert.init(SMALL).params

    def work(ranks):
        own = share_of(params, ranks.rank, ranks.size)
        return own.flat.size, fingerprint(whole_of(own, params.shapes, ranks).flat)

    sizes, hashes = zip(*on_threads(count, work), strict=True)
    assert hashes == (fingerprint(params.flat),) * count
    split = sum(params[name].size for name in params if axis_of(name) is not None)
    assert sum(sizes) == split + count * (params.flat.size - split)


@pytest.mark.parametrize("optimiser", [AdamW(), Lamb(), Lamb(clamp=1.0)], ids=["adamw", "lamb", "clamped lamb"])
def test_steps_are_those_of_one_process(optimiser):
    """Norms of whole tensors, though no rank has all of one."""
    params, grads = hard_params(SMALL), hard_params(SMALL)
    grads.flat[...] = np.random.default_rng(1).standard_normal(grads.flat.size)
    expected, moments = params.copy(), Moments.zeros(params)
    for t in (1, 2, 3):
        ratios = optimiser.step(expected, grads, moments, 0.1, t, 0.5)

    def work(ranks):
        own, own_grads = (share_of(vector, ranks.rank, ranks.size) for vector in (params, grads))
        stepper, moments = optimiser_over(ranks, optimiser), Moments.zeros(own)
        for t in (1, 2, 3):
            found = stepper.step(own, own_grads, moments, 0.1, t, 0.5)
        return whole_of(own, params.shapes, ranks), found, norm_over(ranks, UNSHARED.squares(own_grads))

    for whole, found, norm in on_threads(2, work):
        assert_close(whole, expected)
        assert found.keys() == ratios.keys()
        np.testing.assert_allclose([*found.values()], [*ratios.values()], rtol=LIMIT)
        assert norm == pytest.approx(global_norm(grads), rel=LIMIT)


def tuned(ranks, kind, frozen):
    """The losses of three steps of a task, the gradients and the weights after them, and a hash as in `split_pass`."""
    (objective, labels), rows, group = OBJECTIVES[kind], ranks.data_group, ranks.model_group
    model, optimiser, losses, found = model_for(objective), AdamW(), [], []
    own = model_share(model.config, model.params, group) if group.size > 1 else model
    shares = TensorShares(rows, own.params, model.params.shapes)
    moments = Moments.zeros(shares.own(own.params))
    if rows.size > 1:
        optimiser = SharedStep(optimiser, shares)
    with Workers(own, 1) as workers:
        gradient_of = gradient_function(workers, objective, 0.3, shares=shares, frozen=frozen)
        for t in (1, 2, 3):
            loss, grads, *_ = gradient_of(in_slices(labels, 4)[rows.share(4)], KEY.at(step=t))
            losses.append(float(loss.total))
            optimiser.step(own.params, grads, moments, 0.01, t)
            found.append(shares.whole_of(shares.own(grads), grads.shapes))
    every = b"".join(own.params[name].tobytes() for name in own.params if axis_of(name) is None)
    whole = [whole_of(one, model.params.shapes, group) for one in (*found, own.params)]
    return losses, whole, fingerprint(np.frombuffer(every))


def in_pairs(ranks, *arguments):
    ranks.form_groups(2)
    return tuned(ranks, *arguments)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_steps_of_a_task_are_those_of_one_process_in_a_row_and_a_grid(kind, frozen):
    losses, expected, _ = tuned(ALONE, kind, frozen)
    row, grid = (on_threads(count, lambda ranks: in_pairs(ranks, kind, frozen)) for count in (2, 4))
    for number, right in enumerate(expected):
        for answers in (row, grid):
            assert_alike([(own, whole[number], every) for own, whole, every in answers], (losses, right))
        np.testing.assert_array_equal(grid[3][1][number].flat, row[0][1][number].flat)


def bytes_counted(config, batch, count, recompute=False):
    params = hard_params(config)

    def work(ranks):
        ranks.comm = Counting(ranks.comm)
        own = model_share(config, params, ranks)
        passed(own.pairs, config, own.params, batch, recompute=recompute)
        return ranks.comm.sent

    return sum(on_threads(count, work))


@pytest.mark.parametrize("recompute", [0, 1, 2])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("sharing", ["all", "none"])
def test_bytes_that_leave_are_as_many_as_the_formula_says(sharing, count, recompute):
    config, batch = SMALL.replace(sharing=sharing), Batch.random(SMALL, 3, 6, 2)
    expected = bytes_of_step(config, 3, 6, 2, count, recompute=recompute, itemsize=8)
    assert bytes_counted(config, batch, count, recompute) == expected


def test_traffic_grows_with_the_layers_whether_or_not_they_share_weights():
    batch = Batch.random(SMALL, 3, 6, 2)
    found = {sharing: [bytes_counted(SMALL.replace(sharing=sharing, num_hidden_layers=layers), batch, 2)
                       for layers in (2, 4, 6)] for sharing in ("all", "none")}  # fmt: skip
    assert found["all"] == found["none"]
    two, four, six = found["all"]
    assert six - four == four - two == 2 * (4 * 3 * 6 * SMALL.hidden_size) * 2 * 8


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"num_attention_heads": 3}, "model_ranks is 2; num_attention_heads, which is 3, must be a multiple of it"),
    ({"intermediate_size": 21}, "model_ranks is 2; intermediate_size, which is 21, must be a multiple of it"),
    ({"reversible": True}, "model_ranks is 2; a model with reversible layers cannot be split: it must be 1"),
])  # fmt: skip
def test_a_model_that_cannot_be_split_evenly_is_refused(changes, sentence):
    check_split(SMALL.replace(**changes), 1)
    with pytest.raises(ConfigError) as caught:
        check_split(SMALL.replace(**changes), 2)
    assert str(caught.value) == sentence
