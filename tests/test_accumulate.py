"""A batch's gradient is the sum of its parts', in one order, whoever computes which part."""

import numpy as np
import pytest

from minalbert import PRESETS, Albert, Batch
from minalbert.backend import DropoutKey, to_host
from minalbert.data.instances import Instances, Recipe
from minalbert.data.order import micro_batches
from minalbert.data.shards import Corpus
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.fast.accumulate import Accumulator, tree_sum
from minalbert.fast.crew import Crew

CONFIG = PRESETS["tiny"].replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, vocab_size=50)


def parts_of(batch, count):
    size = len(batch.sop_labels) // count
    return [Batch(*(array[size * i : size * (i + 1)] for array in batch)) for i in range(count)]


def flat_gradient(model, parts, workers=1):
    crew = Crew(model, workers)
    try:
        sums = Accumulator(crew)(parts, DropoutKey(3, 7))
        return to_host(sums.grads.flat).copy(), float(sums.losses.mlm), float(sums.losses.sop)
    finally:
        crew.close()


def test_a_tree_adds_neighbours_first():
    said = tree_sum("abcdefgh", lambda left, right: f"({left}{right})")
    assert said == "(((ab)(cd))((ef)(gh)))"
    assert tree_sum("a", None) == "a"


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
def test_parts_add_up_to_the_whole_batch_with_dropout(count, device):
    model = Albert.init(CONFIG, seed=1, dtype="float64", device=device)
    batch = Batch.random(CONFIG, 8, 12, 3, seed=2)
    losses, grads = model.loss_and_grads(batch, DropoutKey(3, 7))
    found, mlm, sop = flat_gradient(model, parts_of(batch, count))
    np.testing.assert_allclose(found, to_host(grads.flat), rtol=0, atol=1e-14)
    np.testing.assert_allclose([mlm, sop], [float(losses.mlm), float(losses.sop)], rtol=1e-14)


def test_the_number_of_workers_changes_no_bit():
    model = Albert.init(CONFIG, seed=1)
    parts = parts_of(Batch.random(CONFIG, 32, 12, 3, seed=2), 8)
    one = flat_gradient(model, parts)
    for workers in (2, 3, 8):
        other = flat_gradient(model, parts, workers)
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1:] == other[1:]
    reversed_sum = flat_gradient(model, parts[::-1])[0]
    assert not np.array_equal(one[0], reversed_sum)  # and the order does matter


def test_halves_can_be_summed_elsewhere():
    """What two machines would do: each its half of the parts, and then one sum of two."""
    model = Albert.init(CONFIG.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), seed=1)
    batch = Batch.random(CONFIG, 32, 12, 3, seed=2)._replace(mlm_weights=np.ones((32, 3), np.float32))
    parts = parts_of(batch, 8)
    whole = flat_gradient(model, parts)[0]
    halves = [flat_gradient(model, half)[0] for half in (parts[:4], parts[4:])]
    assert np.array_equal(whole, (halves[0] + halves[1]) / 2)  # each divided by its own targets: half as many


def test_an_error_in_a_worker_is_not_lost():
    model = Albert.init(CONFIG, seed=1)
    parts = parts_of(Batch.random(CONFIG, 8, 12, 3), 4)
    parts[2] = parts[2]._replace(input_ids=parts[2].input_ids + 1000)
    with pytest.raises(IndexError):
        flat_gradient(model, parts, workers=2)


@pytest.fixture(scope="module")
def instances():
    worlds = TinyWorlds(seed=1)
    tokenizer = WordTokenizer(worlds.words())
    corpus = Corpus.from_documents(worlds.documents(0, 60), tokenizer)
    return Instances(corpus, tokenizer, Recipe(max_length=32, max_predictions=5), seed=4)


def test_a_number_says_where_a_run_stands_in_its_data(instances):
    size = 16
    in_epoch = len(instances) // size
    assert in_epoch > 3
    stream = micro_batches(instances, size)
    seen = [next(stream) for _ in range(2 * in_epoch + 3)]
    for first in (0, 1, in_epoch - 1, in_epoch, 2 * in_epoch + 1):
        again = next(micro_batches(instances, size, first))
        for one, other in zip(seen[first], again, strict=True):
            assert np.array_equal(one, other)
    assert not np.array_equal(seen[0].input_ids, seen[in_epoch].input_ids)  # another epoch, another order
    assert all(len(batch.input_ids) == size for batch in seen)
