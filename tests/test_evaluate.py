"""Held-out documents, what a model scores on them, and what one that knows nothing would."""

import numpy as np
import pytest

from minalbert import PRESETS, Albert, Batch
from minalbert.data.documents import Document
from minalbert.data.held_out import OLDEST
from minalbert.data.instances import Instances, Recipe
from minalbert.data.shards import Corpus
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.train.evaluation import baselines, evaluate
from minalbert.train.training_data import first_of

WORLDS = TinyWorlds(seed=1)
TOKENIZER = WordTokenizer(WORLDS.words())


@pytest.fixture(scope="module")
def corpus():
    one = Corpus.from_documents(WORLDS.documents(0, 40), TOKENIZER)
    two = Corpus.from_documents(WORLDS.documents(40, 70), TOKENIZER)
    return Corpus(one.shards + two.shards, one.vocab_size, one.tokenizer_digest)


def texts(corpus):
    """Each document's tokens, as bytes."""
    return [
        shard.tokens[shard.sentences[first] : shard.sentences[last]].tobytes()
        for shard in corpus.shards
        for first, last in zip(shard.documents[:-1], shard.documents[1:], strict=True)
    ]


def test_the_oldest_split_parts_the_documents_of_every_shard(corpus):
    training, testing = corpus.split(0.2, rule=OLDEST)
    assert len(texts(training)) == 32 + 24
    assert len(texts(testing)) == 8 + 6
    assert texts(training)[:32] + texts(testing)[:8] == texts(corpus)[:40]
    assert set(texts(training)) & set(texts(testing)) == set()
    both = [half.totals() for half in (training, testing)]
    assert {key: sum(total[key] for total in both) for key in both[0]} == corpus.totals()


def test_a_split_corpus_gives_the_instances_of_its_own_documents(corpus):
    _, testing = corpus.split(0.2, rule=OLDEST)
    alone = Corpus.from_documents(WORLDS.documents(32, 40), TOKENIZER)
    recipe = Recipe(max_length=32, max_predictions=5)
    part = Instances(Corpus(testing.shards[:1], corpus.vocab_size, corpus.tokenizer_digest), TOKENIZER, recipe)
    for one, other in zip(first_of(part, 20), first_of(Instances(alone, TOKENIZER, recipe), 20), strict=True):
        assert np.array_equal(one, other)


def test_an_evaluation_is_the_models_own_loss(device):
    config = PRESETS["tiny"].replace(vocab_size=60)
    model = Albert.init(config, seed=3, dtype="float64", device=device)
    batch = Batch.random(config, 150, 12, 3, seed=1)
    found, losses = evaluate(model, batch), model.loss(batch)
    assert found.mlm_loss == pytest.approx(float(losses.mlm), rel=1e-12)
    assert found.sop_loss == pytest.approx(float(losses.sop), rel=1e-12)
    in_order = (batch.sop_labels == 0).mean()
    recalls = found.sop_recall_in_order * in_order + found.sop_recall_swapped * (1 - in_order)
    assert found.sop_accuracy == pytest.approx(recalls)


def test_accuracies_count_right_answers():
    config = PRESETS["tiny"].replace(vocab_size=60)
    model = Albert.init(config, seed=3)
    model.params["mlm.bias"][7] = 1e3  # it always says word 7, and "swapped"
    model.params["sop.b"][1] = 1e3
    batch = Batch.random(config, 100, 12, 3, seed=1)
    found = evaluate(model, batch)
    used = batch.mlm_weights > 0
    assert found.mlm_accuracy == pytest.approx((batch.mlm_labels[used] == 7).mean())
    assert found.sop_accuracy == pytest.approx(batch.sop_labels.mean())
    assert (found.sop_recall_in_order, found.sop_recall_swapped) == (0.0, 1.0)


def test_a_head_that_is_not_there_has_no_score():
    config = PRESETS["tiny"].replace(vocab_size=60)
    batch = Batch.random(config, 8, 12, 3)
    found = evaluate(Albert.init(config, heads=("mlm",)), batch)
    assert found.sop_accuracy is found.sop_loss is None
    assert found.mlm_accuracy is not None


def test_baselines_are_those_of_counted_words():
    """6 a, 3 b, 1 c and 1 that the tokenizer does not know; one more of each."""
    tokenizer = WordTokenizer(["a", "b", "c"])
    corpus = Corpus.from_documents([Document(["a a a a a a", "b b b c d"], "text", None)], tokenizer)
    ids = tokenizer.encode("a a b d")
    batch = Batch.random(PRESETS["tiny"].replace(vocab_size=8), 4, 4, 1)._replace(
        mlm_labels=np.array(ids)[:, None], mlm_weights=np.ones((4, 1), np.float32)
    )
    found = baselines(corpus, batch)
    assert found.most_frequent_word == pytest.approx(2 / 4)
    chances = np.array([7, 7, 4, 2]) / 15
    assert found.unigram_entropy == pytest.approx(-np.log(chances).mean())
