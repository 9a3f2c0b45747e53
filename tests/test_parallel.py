"""A batch's gradient is the sum of its parts', in one order, whoever computes which slice."""

import time
import weakref

import numpy as np
import pytest
from fingerprint import fingerprint
from hypothesis import given, settings
from hypothesis import strategies as st
from small_batches import CONFIG, KEY, both_kernels, padded

from minalbert import Albert, Batch, Totals
from minalbert.backend import to_host
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.kernels import missing
from minalbert.model import pretraining_backward, pretraining_forward
from minalbert.parallel import TreeSum, Workers, cut, gradients_at_a_time, lengths_of

STILL = CONFIG.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def slices_of(batch, count):
    size = len(batch.sop_labels) // count
    return [Batch(*(array[size * i : size * (i + 1)] for array in batch)) for i in range(count)]


def gradient(model, batches, count=1):
    with Workers(model, count) as workers:
        found = workers.gradient(workers.slices_of(batches), KEY)
        return to_host(found.grads.flat).copy(), float(found.losses.mlm), float(found.losses.sop)


@pytest.mark.parametrize("slices", [1, 2, 4, 8])
def test_so_many_gradients_are_there_at_a_time(slices):
    model, batch = Albert.init(CONFIG), Batch.random(CONFIG, slices, 8, 2)
    for count, exact in ((1, True), (2, False), (3, False)):
        with Workers(model, count) as workers:
            workers.gradient(workers.slices_of(slices_of(batch, slices)))
            made, most = len(workers._free_grads) + 1, gradients_at_a_time(slices, count)
            assert made == most if exact else made <= most


def whole(model, batch, key=None, totals=Totals(), recompute=False):
    """Losses and gradient of one pass over the batch as it is, padding and all."""
    grads = model.params.zeros_like()
    ctx = model.pairs.context(
        model.pairs, model.config, model.params, batch.attention_mask, key, model.pairs.memory(model.params)
    )
    losses, cache = pretraining_forward(batch, ctx, totals, recompute)
    losses = [None if loss is None else float(loss) for loss in losses]
    pretraining_backward(cache, ctx, grads)
    return losses, grads


def tree_sum(nodes, add):
    tree = TreeSum(add)
    for node in nodes:
        tree.push(node)
    return tree.total()


def test_a_tree_adds_neighbours_first():
    def add(left, right):
        return f"({left}{right})"

    assert tree_sum("abcdefgh", add) == "(((ab)(cd))((ef)(gh)))"
    assert tree_sum("abcdefg", add) == "(((ab)(cd))((ef)g))"
    assert tree_sum("a", add) == "a"


def test_a_tree_keeps_few_nodes_at_a_time():
    alive = most = 0

    def leaves():
        nonlocal alive, most
        for leaf in range(64):
            alive += 1
            most = max(most, alive)
            yield leaf

    def add(left, right):
        nonlocal alive
        alive -= 1
        return left + right

    assert tree_sum(leaves(), add) == sum(range(64))
    assert most == 7  # log2(64) + 1


@pytest.mark.parametrize("count", [2, 4, 8])
def test_slices_add_up_to_the_whole_batch(device, count):
    model = Albert.init(STILL, seed=1, dtype="float64", device=device)
    batch = Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch)
    found, mlm, sop = gradient(model, slices_of(batch, count))
    np.testing.assert_allclose(found, to_host(grads.flat), rtol=0, atol=1e-14)
    np.testing.assert_allclose([mlm, sop], [float(losses.mlm), float(losses.sop)], rtol=1e-14)


@both_kernels
def test_the_number_of_workers_changes_no_bit(kernels):
    model = Albert.init(CONFIG, seed=1, kernels=kernels)
    slices = slices_of(Batch.random(CONFIG, 32, 12, 3, seed=2), 8)
    one = gradient(model, slices)
    for count in (2, 3, 8):
        other = gradient(model, slices, count)
        assert fingerprint(one[0]) == fingerprint(other[0])
        assert one[1:] == other[1:]
    reversed_sum = gradient(model, slices[::-1])[0]
    assert not np.array_equal(one[0], reversed_sum)  # and the order does matter


@both_kernels
def test_the_same_batch_gives_the_same_bits_by_any_number_of_workers(kernels, cut_often):
    batch, found = Batch.random(CONFIG, 32, 12, 3, seed=2), []
    for count in (1, 2, 3, 8):
        model = Albert.init(CONFIG, seed=1, kernels=kernels)
        model._workers = Workers(model, count)
        assert len(model._workers.slices(batch)) == 8
        losses, grads = model.loss_and_grads(batch, KEY)
        own = model.forward(*batch[:3], dropout=KEY)
        arrays = [grads.flat, own.hidden, own.backward(np.ones_like(own.hidden)).flat, model.encode(*batch[:3])[0]]
        found.append([float(losses.total), float(model.loss(batch).total), *(fingerprint(array) for array in arrays)])
    assert found[1:] == found[:1] * 3


def test_halves_can_be_summed_elsewhere():
    """What two machines would do: each its half of the slices, and then one sum of two."""
    model = Albert.init(STILL, seed=1)
    batch = Batch.random(CONFIG, 32, 12, 3, seed=2)._replace(mlm_weights=np.ones((32, 3), np.float32))
    slices = slices_of(batch, 8)
    whole = gradient(model, slices)[0]
    halves = [gradient(model, half)[0] for half in (slices[:4], slices[4:])]
    assert np.array_equal(whole, (halves[0] + halves[1]) / 2)  # each divided by its own targets: half as many


def test_accumulating_batches_is_one_large_batch():
    model, batch = Albert.init(STILL, seed=1, dtype="float64"), Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch)
    found, accumulated = model.accumulate(slices_of(batch, 4))
    np.testing.assert_allclose(accumulated.flat, grads.flat, rtol=0, atol=1e-14)
    assert float(found.total) == pytest.approx(float(losses.total), rel=1e-14)
    _, twice = model.accumulate(slices_of(batch, 4), into=accumulated)
    assert twice is accumulated
    np.testing.assert_allclose(twice.flat, 2 * grads.flat, rtol=0, atol=1e-13)


def test_an_error_in_a_worker_is_not_lost():
    model = Albert.init(CONFIG, seed=1)
    slices = slices_of(Batch.random(CONFIG, 8, 12, 3), 4)
    slices[2] = slices[2]._replace(input_ids=slices[2].input_ids + 1000)
    with pytest.raises(IndexError):
        gradient(model, slices, count=2)


# A batch that is cut, and the whole

CASES = [(kernels, sharing, recompute) for kernels in ("plain", "fused") for sharing in ("all", "attention", "ffn",
         "none") for recompute in (False, True)]  # fmt: skip


@pytest.mark.parametrize(("kernels", "sharing", "recompute"), CASES)
def test_parts_are_the_whole_batch_to_the_last_digits(cut_often, kernels, sharing, recompute):
    config = STILL.replace(sharing=sharing)
    model, batch = (
        Albert.init(config, seed=1, dtype="float64", kernels=kernels),
        Batch.random(CONFIG, 13, 21, 5, seed=4),
    )
    slices = model._workers.slices(batch)
    assert len(slices) > 1
    assert max(map(len, slices)) > 1
    assert sum(part.batch.input_ids.size for parts in slices for part in parts) < 0.9 * batch.input_ids.size
    assert_equal(model, batch, recompute)


@pytest.mark.skipif(missing("compiled", "full", "cpu") is not None, reason=str(missing("compiled", "full", "cpu")))
def test_parts_are_the_whole_batch_with_compiled_kernels(cut_often):
    model, batch = Albert.init(STILL, seed=1, kernels="compiled"), Batch.random(CONFIG, 13, 21, 5, seed=4)
    assert_equal(model, batch, atol=40 * np.finfo("float32").eps)


def assert_equal(model, batch, recompute=False, atol=1e-12):
    """Losses and gradients, hidden states and the way back: those of one pass over all of the padding."""
    expected, grads = whole(model, batch, recompute=recompute)
    scale = np.abs(grads.flat).max()
    losses, found = model.loss_and_grads(batch, recompute=recompute)
    np.testing.assert_allclose([float(loss) for loss in losses], expected, rtol=atol)
    np.testing.assert_allclose(found.flat, grads.flat, rtol=0, atol=atol * scale)
    np.testing.assert_allclose([float(loss) for loss in model.loss(batch)], expected, rtol=atol)
    if len(batch.sop_labels) > 1:
        halves = [Batch(*(array[half] for array in batch)) for half in (slice(1), slice(1, None))]
        losses, found = model.accumulate(halves, recompute=recompute)
        np.testing.assert_allclose([float(loss) for loss in losses], expected, rtol=atol)
        np.testing.assert_allclose(found.flat, grads.flat, rtol=0, atol=atol * scale)

    states = model.hidden_states(*batch[:3], layers=-1)[0]
    there = np.arange(states.shape[1]) < lengths_of(batch._replace(mlm_weights=0 * batch.mlm_weights))[:, None]
    states, dhidden = states * there[..., None], np.random.default_rng(1).standard_normal(states.shape)
    np.testing.assert_allclose(model.encode(*batch[:3])[0], states, rtol=0, atol=100 * atol)
    own = model.forward(*batch[:3], recompute=recompute)
    np.testing.assert_allclose(own.hidden, states, rtol=0, atol=100 * atol)
    several = own.backward(dhidden.astype(states.dtype)).flat
    one = Albert(model.config, model.params, **model.compute._asdict())
    one._workers.slices = lambda inputs: [[type(part)(inputs, slice(None), 0) for part in cut(inputs, 1)[0][:1]]]
    once = one.forward(*batch[:3]).backward((dhidden * there[..., None]).astype(states.dtype)).flat
    np.testing.assert_allclose(several, once, rtol=0, atol=atol * np.abs(once).max())


@st.composite
def batches(draw):
    """With holes in the attention mask, examples without a token, slots that are not used, predictions of padding."""
    B, T, P = draw(st.integers(1, 6)), draw(st.integers(1, 9)), draw(st.integers(1, 3))
    masks = draw(st.lists(st.lists(st.integers(0, 1), min_size=T, max_size=T), min_size=B, max_size=B))
    place = st.integers(-1, T - 1)
    return padded(masks, draw(st.lists(st.lists(place, min_size=P, max_size=P), min_size=B, max_size=B)))


@settings(max_examples=40)
@given(batches(), st.sampled_from(["plain", "fused"]))
def test_any_batch_may_be_cut(batch, kernels):
    config = TINY.replace(vocab_size=50, max_position_embeddings=9)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("minalbert.parallel.slices.WORTH_MORE", 4)
        monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_PART", 1)
        assert_equal(Albert(config, hard_params(config), kernels=kernels), batch)


@both_kernels
def test_hidden_states_of_some_positions_are_those_of_all(cut_often, kernels):
    """Also where a position is behind the last token of a part."""
    model, batch = Albert.init(STILL, seed=1, dtype="float64", kernels=kernels), Batch.random(CONFIG, 13, 21, 5, seed=4)
    positions = np.random.default_rng(2).integers(0, 21, (13, 4))
    positions[:, 0] = 20
    expected = model.encode(*batch[:3])[0][np.arange(13)[:, None], positions]
    np.testing.assert_allclose(model.encode(*batch[:3], positions)[0], expected, atol=1e-11)
    np.testing.assert_allclose(model.forward(*batch[:3], positions=positions).hidden, expected, atol=1e-11)


@both_kernels
def test_each_part_has_dropout_masks_of_its_own(cut_often, kernels):
    """Those of its first example's number, counted by length: a batch is the sum of its parts, each passed alone."""
    model, batch = Albert.init(CONFIG, seed=1, dtype="float64", kernels=kernels), Batch.random(CONFIG, 9, 12, 3, seed=2)
    key, parts = KEY.at(example=100), [part for parts in model._workers.slices(batch) for part in parts]
    assert [part.first for part in parts] == [0, *np.cumsum([len(part.examples) for part in parts])[:-1]]
    totals, expected = Totals(float(batch.mlm_weights.sum()), 9.0), model.params.zeros_like()
    for part in parts:
        expected.flat += whole(model, part.batch, key.at(example=100 + part.first), totals)[1].flat
    np.testing.assert_allclose(model.loss_and_grads(batch, key)[1].flat, expected.flat, rtol=0, atol=1e-14)


@both_kernels
def test_hidden_states_and_their_way_back_drop_alike(cut_often, kernels):
    """A slope of hidden times dhidden, with dropout: forward and backward sample the same masks in each part."""
    model, batch = Albert.init(CONFIG, seed=1, dtype="float64", kernels=kernels), Batch.random(CONFIG, 9, 12, 3, seed=2)
    dhidden = np.random.default_rng(1).standard_normal((9, 12, CONFIG.hidden_size))
    grads = model.forward(*batch[:3], dropout=KEY).backward(dhidden)
    direction, start, h = grads.flat / np.linalg.norm(grads.flat), model.params.flat.copy(), 1e-5

    def value(steps):
        model.params.flat[:] = start + steps * h * direction
        return (model.forward(*batch[:3], dropout=KEY).hidden * dhidden).sum()

    slope = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * h)
    assert slope == pytest.approx(np.linalg.norm(grads.flat), rel=1e-7)


def test_passes_at_once_have_memory_of_their_own():
    workers = Workers(Albert(TINY, hard_params(TINY), kernels="fused"), 2)
    with workers.memory() as earlier:
        pass
    with workers.memory() as first, workers.memory() as second:
        assert first is earlier
        assert second is not first


def test_an_interrupted_call_leaves_no_job_running():
    """Else a slice that was begun would go on adding into gradients that the caller has back."""
    events = []

    def work(number):
        if number == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        events.append("done")

    with Workers(Albert(TINY, hard_params(TINY)), 3) as workers_of_three:
        with pytest.raises(KeyboardInterrupt):
            list(workers_of_three.run(work, [(0,), (1,), (2,)]))
        finished = len(events)
        time.sleep(0.3)
    assert len(events) == finished


@both_kernels
def test_a_model_frees_its_memory(kernels):
    model = Albert(TINY, hard_params(TINY), kernels=kernels)
    losses, _ = model.loss_and_grads(hard_batch(TINY))
    kept = weakref.ref(model._workers)
    model.release()
    assert kept() is None
    assert model.loss_and_grads(hard_batch(TINY))[0] == losses
