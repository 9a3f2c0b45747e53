"""examples/albert_in_one_file.py: the library's numbers, the library's instances, three hundred lines."""

import ast
import importlib.util
import re
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from random_corpora import shard_of

from minalbert import Albert, AlbertConfig, Batch
from minalbert.data.instances import Instances, Recipe
from minalbert.data.random_draws import Choice, below, bits, keys, lower
from minalbert.data.tiny_worlds.rings import RINGS
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.optim import Lamb, Moments
from minalbert.params import Params, shapes

PATH = Path(__file__).parents[1] / "examples" / "albert_in_one_file.py"
SOURCE = PATH.read_text(encoding="utf-8")


@pytest.fixture
def one():
    spec = importlib.util.spec_from_file_location("albert_in_one_file", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def config(one):
    return AlbertConfig(
        vocab_size=one.V, embedding_size=one.E, hidden_size=one.H, num_hidden_layers=one.L, num_attention_heads=one.N,
        intermediate_size=4 * one.H, max_position_embeddings=one.TABLES["embeddings.position"][0],
    )  # fmt: skip


def some_weights(config, seed=0, dtype="float64"):
    """Weights at random, those of biases and gains, too."""
    params = Params.zeros(shapes(config), dtype)
    params.flat[...] = np.random.default_rng(seed).normal(0.1, 0.2, params.flat.size)
    return params


def some_batch(one, size=5, seed=0):
    rng = np.random.default_rng(seed)
    return one.make_batch([one.tell(rng) for _ in range(size)], rng)


def as_library(batch):
    """The same batch with slots: each of the K masked rows in its sequence."""
    ids, types, masked, words, swapped = batch
    sequence, place = np.divmod(masked, ids.shape[1])
    slot = [(sequence[:k] == b).sum() for k, b in enumerate(sequence)]
    positions, labels, weights = np.zeros((3, len(ids), max(slot) + 1), int)
    positions[sequence, slot], labels[sequence, slot], weights[sequence, slot] = place, words, 1
    return Batch(ids, (ids > 0).astype(int), types, positions, labels, weights.astype(float), swapped)


# The model.


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_losses_and_gradients_are_the_librarys(one, config, monkeypatch, layers):
    monkeypatch.setattr(one, "L", layers)
    params, batch = some_weights(config, layers), some_batch(one, seed=layers)
    assert (batch[0] == 0).any()
    assert {name: w.shape for name, w in one.init(np.random.default_rng(0)).items()} == shapes(config)

    losses, grads = Albert(config.replace(num_hidden_layers=layers), params).loss_and_grads(as_library(batch))
    (mlm, sop), _, G = one.albert(dict(params), batch)
    assert mlm == pytest.approx(float(losses.mlm), rel=1e-12)
    assert sop == pytest.approx(float(losses.sop), rel=1e-12)
    assert set(G) == set(grads)
    for name, g in G.items():
        assert np.abs(g - grads[name]).max() <= 1e-12 * max(1, np.abs(grads[name]).max()), name


def test_each_gradient_is_the_slope_along_a_random_direction(one, config):
    params, batch, rng, h = dict(some_weights(config)), some_batch(one, 2), np.random.default_rng(1), 1e-5
    G = one.albert(params, batch)[2]
    for name, w in params.items():
        d = rng.standard_normal(w.shape)
        up, down = (sum(one.albert(params | {name: w + step * d}, batch)[0]) for step in (h, -h))
        assert (G[name] * d).sum() == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8), name


def test_its_own_check_tells_right_from_wrong(one, config, monkeypatch, capsys):
    def slopes():
        one.check_gradients(dict(some_weights(config)), some_batch(one), np.random.default_rng(0))
        return [float(number) for number in re.findall(r"-?\d+\.\d+", capsys.readouterr().out)]

    by_gradients, by_difference = slopes()
    assert by_gradients == pytest.approx(by_difference, rel=1e-6, abs=2e-6)
    monkeypatch.setattr(one, "gelu_backward", lambda dy, cache: dy)
    by_gradients, by_difference = slopes()
    assert by_gradients != pytest.approx(by_difference, rel=1e-2)


def test_float32_stays_float32(one, config):
    logits, G = one.albert(dict(some_weights(config, dtype="float32")), some_batch(one))[1:]
    assert {array.dtype for array in (*logits, *G.values())} == {np.dtype(np.float32)}


def test_lamb_is_the_librarys(one, config):
    params, grads = some_weights(config), some_weights(config, seed=1)
    moments, P = Moments.zeros(params), {name: w.copy() for name, w in params.items()}
    M = {name: (np.zeros_like(w), np.zeros_like(w)) for name, w in P.items()}
    for t in (1, 2, 3):
        Lamb().step(params, grads, moments, 0.01, t)
        one.lamb(P, grads, M, 0.01)
    for name, w in P.items():
        assert np.abs(w - params[name]).max() <= 1e-12, name


# The text and the two questions.


def test_the_rings_are_those_of_tiny_worlds(one):
    """Each step is a step of a ring of the library, without its brackets, and they come in the ring's order."""
    theirs = [[re.sub(r"[()<>]", "", step) for step in schema.step_texts()] for schema in RINGS]
    for ring in one.STEPS.split("\n\n"):
        steps = ring.split("\n")
        assert any([step for step in whole if step in steps] == steps for whole in theirs), steps[0]


def test_no_word_of_a_pair_reveals_its_order(one):
    """A linear model of which words each segment has guesses held-out orders; a ring does not let it."""
    ids, types, _, _, swapped = some_batch(one, 3000)
    counts = np.zeros((len(ids), 2 * one.V))
    np.add.at(counts, (np.arange(len(ids))[:, None], ids + one.V * types), ids > 3)
    seen, new = slice(0, 2000), slice(2000, None)
    weights = np.linalg.lstsq(counts[seen], 2.0 * swapped[seen] - 1, rcond=None)[0]
    assert abs(((counts[new] @ weights > 0) == swapped[new]).mean() - 0.5) < 0.05


class Replay:
    """Answers a file that asks for random numbers with those that the library drew for one instance."""

    def __init__(self, instances, number, sentences, places):
        self.key, self.vocab_size = keys(instances.seed, 0, [number]), instances.vocab_size
        self.sentences, self.ranks = sentences, count()
        self.chances = iter([self.bits(Choice.SWAP), *(self.bits(Choice.REPLACE, place) for place in places)])
        self.others = (self.bits(Choice.REPLACEMENT, place) for place in places if self.changes(place))

    def bits(self, choice, index=0):
        return bits(self.key, choice, index)[0]

    def changes(self, place):
        return self.bits(Choice.REPLACE, place) >> 32 >= round(0.9 * 2**32)

    def random(self):
        return (next(self.chances) >> 32) / 2**32

    def integers(self, low, high=None):
        if high is not None:  # where a story is cut
            assert (low, high) == (1, self.sentences)
            return 1 + below(self.bits(Choice.SPLIT), self.sentences - 1)
        if low == 11:  # how many words a span has
            return below(lower(self.bits(Choice.SPAN, next(self.ranks))), 11)
        assert low == self.vocab_size - 5  # which word stands in a hidden word's place
        return below(next(self.others), low)

    def permutation(self, words):
        for rank in range(len(words)):
            other = rank + below(self.bits(Choice.SPAN, rank), len(words) - rank)
            words[rank], words[other] = words[other], words[rank]
        return words


def test_instances_are_the_librarys_draw_for_draw(one):
    rng, tokenizer = np.random.default_rng(3), WordTokenizer(one.WORDS[4:])
    stories = [one.tell(rng) for _ in range(300)]
    text = [[tokenizer.encode(" ".join(sentence)) for sentence in story] for story in stories]
    shard = shard_of(text, [-1] * len(text))
    corpus = SimpleNamespace(shards=[shard], vocab_size=tokenizer.vocab_size, tokenizer_digest=tokenizer.digest)
    recipe = Recipe(max_length=32, mask_fraction=0.15, short_fraction=0.0)
    instances = Instances(corpus, tokenizer, recipe, seed=5)
    assert len(instances) == len(stories)
    for number, story in enumerate(stories):
        detail = instances.detail(0, number)
        places = sorted(place for span in detail.spans for place in span.positions)
        replay = Replay(instances, number, len(story), places)
        tokens, types, chosen, words, swapped = one.make_example(story, replay)
        assert tokens == [tokenizer.pieces[id] for id in detail.input_ids]
        assert types == detail.token_type_ids.tolist()
        assert chosen == places
        assert words == [tokenizer.pieces[detail.original_ids[place]] for place in places]
        assert swapped == detail.label
        assert [*replay.chances, *replay.others] == []


# The file.


def test_it_fits_on_a_few_screens():
    assert len(SOURCE.splitlines()) <= 300


def test_it_needs_numpy_and_nothing_else():
    found = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in found] == ["import numpy as np"]


def test_a_short_training_learns_words(one, capsys):
    rng = np.random.default_rng(0)
    one.train([one.tell(rng) for _ in range(500)], rng, steps=101, size=8)
    first, last = re.findall(r"MLM loss (\d\.\d+)", capsys.readouterr().out)
    assert float(last) < float(first) - 1


@pytest.mark.slow
def test_it_learns_to_order_sentences(one, capsys):
    """Some 30 to 40 seconds of one processor."""
    one.main(seed=0)
    words, orders = re.findall(r"(\d+\.\d)% of the", capsys.readouterr().out)
    assert float(words) > 55
    assert float(orders) >= 90
