"""A batch's gradient is the sum of its slices', in one order, whoever computes which slice; how a batch is cut."""

import time
import weakref

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Batch, DropoutKey
from minalbert.backend import to_host
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.parallel import TreeSum, Workers, blas_threads, placed, split, threads, workers
from minalbert.parallel.threads import blas

CONFIG = PRESETS["tiny"].replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, vocab_size=50)
KEY = DropoutKey(3, 7)
both_kernels = pytest.mark.parametrize("kernels", ["plain", "fused"])


def slices_of(batch, count):
    size = len(batch.sop_labels) // count
    return [Batch(*(array[size * i : size * (i + 1)] for array in batch)) for i in range(count)]


def gradient(model, slices, count=1):
    with Workers(model, count) as workers:
        found = workers.gradient(slices, KEY)
        return to_host(found.grads.flat).copy(), float(found.losses.mlm), float(found.losses.sop)


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


@both_kernels
@pytest.mark.parametrize("count", [2, 4, 8])
def test_slices_add_up_to_the_whole_batch_with_dropout(count, kernels):
    model = Albert.init(CONFIG, seed=1, dtype="float64", kernels=kernels)
    batch = Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch, KEY)
    found, mlm, sop = gradient(model, slices_of(batch, count))
    np.testing.assert_allclose(found, grads.flat, rtol=0, atol=1e-14)
    np.testing.assert_allclose([mlm, sop], [float(losses.mlm), float(losses.sop)], rtol=1e-14)


def test_slices_add_up_on_any_device(device):
    model = Albert.init(CONFIG, seed=1, dtype="float64", device=device)
    batch = Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch, KEY)
    found, mlm, sop = gradient(model, slices_of(batch, 4))
    np.testing.assert_allclose(found, to_host(grads.flat), rtol=0, atol=1e-14)
    np.testing.assert_allclose([mlm, sop], [float(losses.mlm), float(losses.sop)], rtol=1e-14)


@both_kernels
def test_the_number_of_workers_changes_no_bit(kernels):
    model = Albert.init(CONFIG, seed=1, kernels=kernels)
    slices = slices_of(Batch.random(CONFIG, 32, 12, 3, seed=2), 8)
    one = gradient(model, slices)
    for count in (2, 3, 8):
        other = gradient(model, slices, count)
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1:] == other[1:]
    reversed_sum = gradient(model, slices[::-1])[0]
    assert not np.array_equal(one[0], reversed_sum)  # and the order does matter


def test_halves_can_be_summed_elsewhere():
    """What two machines would do: each its half of the slices, and then one sum of two."""
    model = Albert.init(CONFIG.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), seed=1)
    batch = Batch.random(CONFIG, 32, 12, 3, seed=2)._replace(mlm_weights=np.ones((32, 3), np.float32))
    slices = slices_of(batch, 8)
    whole = gradient(model, slices)[0]
    halves = [gradient(model, half)[0] for half in (slices[:4], slices[4:])]
    assert np.array_equal(whole, (halves[0] + halves[1]) / 2)  # each divided by its own targets: half as many


def test_accumulating_batches_is_one_large_batch():
    model, batch = Albert.init(CONFIG, seed=1, dtype="float64"), Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch, KEY)
    found, accumulated = model.accumulate(slices_of(batch, 4), KEY)
    np.testing.assert_allclose(accumulated.flat, grads.flat, rtol=0, atol=1e-14)
    assert float(found.total) == pytest.approx(float(losses.total), rel=1e-14)
    _, twice = model.accumulate(slices_of(batch, 4), KEY, into=accumulated)
    assert twice is accumulated
    np.testing.assert_allclose(twice.flat, 2 * grads.flat, rtol=0, atol=1e-13)


def test_an_error_in_a_worker_is_not_lost():
    model = Albert.init(CONFIG, seed=1)
    slices = slices_of(Batch.random(CONFIG, 8, 12, 3), 4)
    slices[2] = slices[2]._replace(input_ids=slices[2].input_ids + 1000)
    with pytest.raises(IndexError):
        gradient(model, slices, count=2)


@pytest.fixture
def two_threads():
    """BLAS with two, whatever the environment says."""
    with blas().limit(limits=2):
        if threads() != 2:
            pytest.skip("the threads of this NumPy's BLAS cannot be controlled")
        yield


@both_kernels
def test_a_batch_is_cut_into_slices_where_blas_has_threads(monkeypatch, two_threads, kernels):
    """Its losses, gradients and states are those of the whole, however it is cut."""
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_THREAD", 1)
    config = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
    model, batch = Albert(config, hard_params(config), kernels=kernels), hard_batch(config)
    dhidden = np.random.default_rng(1).standard_normal((3, 5, 6))
    found = {}
    for count in (1, 2, 3):
        monkeypatch.setattr(workers, "threads", lambda count=count: count)
        model._workers = Workers(model, 3)
        with model._workers.slices(batch) as slices:
            assert len(slices) == count
            assert threads() == (2 if count == 1 else 1)
        losses, grads = model.loss_and_grads(batch, KEY)
        own = model.forward(*batch[:3], dropout=KEY).backward(dhidden)
        found[count] = (
            float(losses.total),
            float(model.loss(batch).total),
            grads.flat,
            own.flat,
            *model.encode(*batch[:3]),
        )
    for count in (2, 3):
        for one, other in zip(found[count], found[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("examples", "count"), [(1, 1), (3, 1), (4, 1), (8, 2), (16, 4), (100, 4)])
def test_no_slice_is_made_of_little(examples, count):
    """192 x 342 numbers, a quarter of WORTH_A_THREAD, in such an example's layer."""
    config = AlbertConfig(vocab_size=100, hidden_size=192, num_attention_heads=3)
    assert len(split(Batch.random(config, examples, 342, 9), 4, config.hidden_size)) == count


def test_blas_gets_its_threads_back(two_threads):
    with blas_threads(1):
        assert threads() == 1
    assert threads() == 2


def test_blas_gets_its_threads_back_from_the_last_who_limits_them(two_threads):
    one, other = blas_threads(1), blas_threads(1)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert threads() == 1
    other.__exit__(None, None, None)
    assert threads() == 2


def test_an_interrupted_call_leaves_no_job_running(monkeypatch):
    """Else a slice that was begun would go on adding into gradients that the caller has back."""
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_THREAD", 1)
    events = []

    def work(batch, first):
        if first == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        events.append("done")

    slices = split(hard_batch(TINY), 3, TINY.hidden_size)
    with Workers(Albert(TINY, hard_params(TINY)), 3) as workers_of_three:
        with pytest.raises(KeyboardInterrupt):
            list(workers_of_three.run(work, placed(slices)))
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
