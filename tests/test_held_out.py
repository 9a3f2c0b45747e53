"""Which documents are held out: exactly so many, of every source, the same however the corpus is cut into shards."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
import small_run
import small_text
from hypothesis import given
from hypothesis import strategies as st

from minalbert.commands import main
from minalbert.data import shards
from minalbert.data.build import build
from minalbert.data.documents import Document
from minalbert.data.held_out import OLDEST, Split, held_out
from minalbert.data.instances import Instances
from minalbert.data.recipe import Recipe
from minalbert.data.shards import Corpus
from minalbert.data.sources import story_sources, text_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError, TrainError
from minalbert.train import checkpoint, pretrain, pretraining
from minalbert.train.log import read_lines
from minalbert.train.records import Observer


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.floats(0, 1), st.integers(0, 2**63))
def test_their_number_is_exact_and_shards_do_not_matter(counts, share, seed):
    chosen = held_out(counts, share, seed)
    assert chosen.shape == (sum(counts),)
    assert chosen.sum() == round(share * sum(counts))
    np.testing.assert_array_equal(chosen, held_out([sum(counts)], share, seed))


@given(st.integers(20, 400), st.floats(0.01, 0.5), st.integers(0, 10**6), st.integers(0, 400), st.integers(20, 400))
def test_any_stretch_of_the_corpus_gives_its_share(documents, share, seed, start, length):
    """Whatever the sources are: of documents in a row, as many as of the whole, but for less than two at each end."""
    chosen = held_out([documents], share, seed)[start : start + length]
    expected = len(chosen) * round(share * documents) / documents
    assert abs(chosen.sum() - expected) <= 2


def test_eighteen_shards_of_few_documents_give_the_share():
    counts = [8] * 9 + [7] * 9
    assert held_out(counts, 0.05, rule=OLDEST).sum() == 0
    assert held_out(counts, 0.05).sum() == 7
    halves = held_out([70, 70], 0.1, seed=4).reshape(2, 70).sum(1)
    assert halves.tolist() == [7, 7]


def test_how_many_stretches_are_looked_at_together_changes_nothing(monkeypatch):
    whole = held_out([700, 311], 0.13, 5)
    for at_once in (1, 2, 7, 131, 132):
        monkeypatch.setattr("minalbert.data.held_out.AT_ONCE", at_once)
        np.testing.assert_array_equal(held_out([700, 311], 0.13, 5), whole)


def test_a_seed_is_a_choice():
    chosen = [held_out([1000], 0.1, seed) for seed in range(20)]
    assert len({tuple(np.flatnonzero(one)) for one in chosen}) == 20
    assert abs(sum(chosen).std() - np.sqrt(20 * 0.1 * 0.9)) < 0.15  # independent of each other
    np.testing.assert_array_equal(chosen[3], held_out([1000], 0.1, 3))


def test_a_seed_keeps_its_meaning():
    assert np.flatnonzero(held_out([40], 0.1, seed=0)).tolist() == [3, 15, 27, 30]
    assert np.flatnonzero(held_out([5, 5], 0.4, rule=OLDEST)).tolist() == [3, 4, 8, 9]


@pytest.mark.parametrize("share", [2, -0.1, float("nan"), float("inf"), "half", None, True, [0.1]])
def test_a_share_that_is_none_is_refused(share):
    corpus = Corpus.from_documents([Document(["w1 w2"])] * 9, small_text.tokenizer())
    with pytest.raises(DataError, match=r"share is .*; it must be a number from 0 to 1"):
        corpus.split(share)


def test_a_rule_and_a_seed_that_are_none_are_refused():
    with pytest.raises(DataError, match="rule is 'any'; it must"):
        held_out([9], 0.1, rule="any")
    with pytest.raises(DataError, match=r"seed is 0\.5"):
        held_out([9], 0.1, seed=0.5)


def texts(corpus):
    """Each document's sentences, as bytes."""
    return [
        [shard.tokens[a:b].tobytes() for a, b in pairwise(bounds)]
        for shard in corpus.shards
        for first, last in zip(shard.documents[:-1], shard.documents[1:], strict=True)
        for bounds in [shard.sentences[first : last + 1]]
    ]


@pytest.mark.parametrize("rule", [OLDEST, "one of each stretch"])
@pytest.mark.parametrize("memory", [0, 2**28])
def test_the_halves_of_a_split_are_the_documents(tmp_path, monkeypatch, rule, memory):
    monkeypatch.setattr(shards, "IN_MEMORY", memory)
    path = small_text.write_lines(tmp_path / "text.txt", small_text.documents(fewest=2))
    corpus = build(text_sources([path], shard_tokens=400), small_text.tokenizer(), tmp_path / "corpus")
    training, testing = corpus.split(0.3, seed=7, rule=rule)
    chosen = held_out([len(shard.documents) - 1 for shard in corpus.shards], 0.3, 7, rule)
    everything = texts(corpus)
    assert texts(testing) == [text for text, out in zip(everything, chosen, strict=True) if out]
    assert texts(training) == [text for text, out in zip(everything, chosen, strict=True) if not out]
    both = [half.totals() for half in (training, testing)]
    assert {key: sum(total[key] for total in both) for key in both[0]} == corpus.totals()
    assert {shard.tokens.dtype for shard in training.shards} == {np.dtype("uint16")}
    assert sum(np.bincount(shard.tokens).sum() for shard in testing.shards) == testing.totals()["tokens"]
    again = [texts(half) for half in training.split(0.5)]
    assert sorted(again[0] + again[1]) == sorted(texts(training))


def test_instances_of_a_large_corpus_are_those_of_one_in_memory(tmp_path, monkeypatch):
    path = small_text.write_lines(tmp_path / "text.txt", small_text.documents(fewest=2))
    tokenizer, batches = small_text.tokenizer(), []
    for memory in (2**28, 0):
        monkeypatch.setattr(shards, "IN_MEMORY", memory)
        corpus = build(text_sources([path], shard_tokens=400), tokenizer, tmp_path / "corpus")
        for part in (corpus, *corpus.split(0.1), corpus.split(0.1)[0].split(0.1)[0]):
            for pairs in ("sop", "none"):
                instances = Instances(part, tokenizer, Recipe(max_length=16, max_predictions=3, pairs=pairs))
                batches.append(instances.batch(0, np.arange(len(instances))))
    for one, other in zip(batches[:8], batches[8:], strict=True):
        assert all(np.array_equal(array, same) for array, same in zip(one, other, strict=True))


# Runs


def circumstances(run):
    return json.loads((checkpoint.path_of(run, checkpoint.steps(run)[-1]) / "state.json").read_bytes())["circumstances"]


def begun(monkeypatch, run, split):
    """A run of 4 steps on documents held out like this, whose hash is what it computes by step 8."""
    run.mkdir()
    with monkeypatch.context() as past:
        past.setattr(pretraining, "split_of", lambda *_: split)
        small_run.train(run, steps=4, schedule="constant")


def test_a_run_notes_how_documents_were_held_out(tmp_path):
    small_run.train(tmp_path / "run", steps=4, seed=9)
    assert circumstances(tmp_path / "run")["split"] == "one of each stretch, seed 9"


@pytest.mark.parametrize("split", [Split(0, OLDEST), Split(0), Split(5)])
def test_a_run_resumes_with_its_own_split(tmp_path, monkeypatch, split):
    run = tmp_path / "run"
    begun(monkeypatch, run, split)
    assert circumstances(run).get("split") == (None if split.rule == OLDEST else str(split))
    small_run.train(run, steps=8, schedule="constant")
    (tmp_path / "whole").mkdir()
    with monkeypatch.context() as past:
        past.setattr(pretraining, "split_of", lambda *_: split)
        small_run.train(tmp_path / "whole", steps=8, schedule="constant")
    assert small_run.computed(run)["hash"] == small_run.computed(tmp_path / "whole")["hash"]


def test_a_run_does_not_resume_with_another_split(tmp_path, monkeypatch):
    begun(monkeypatch, tmp_path / "run", Split(0))
    monkeypatch.setattr(pretraining, "split_of", lambda *_: Split(5))
    with pytest.raises(TrainError, match=r"the (held-out )?data is .* resumes with that only|the split is .*, seed 5"):
        small_run.train(tmp_path / "run", steps=8, schedule="constant")


def test_an_old_run_is_scored_on_what_it_was_kept_from(tmp_path, monkeypatch, capsys):
    worlds = TinyWorlds(seed=1)
    build(story_sources(worlds, 40, 13), WordTokenizer(worlds.words()), tmp_path / "worlds")
    settings = small_run.small_settings(corpus=str(tmp_path / "worlds"), steps=4)
    (tmp_path / "run").mkdir()
    with monkeypatch.context() as past:
        past.setattr(pretraining, "split_of", lambda *_: Split(0, OLDEST))
        pretrain(settings, tmp_path / "run")
    logged = [line for line in read_lines(tmp_path / "run") if line["kind"] == "eval"][-1]
    for seed in ([], ["--seed", "0"]):
        assert main(["eval", str(tmp_path / "run"), "--json", *seed]) == 0
        found = json.loads(capsys.readouterr().out)["evaluation"]
        assert found == {name: logged[name] for name in found}
    assert main(["eval", str(tmp_path / "run"), "--json", "--seed", "8"]) == 0  # other masks, the same documents
    assert json.loads(capsys.readouterr().out)["evaluation"] != found


def test_a_split_that_is_not_known_is_one_sentence():
    assert Split.noted(str(Split(7))) == Split(7)
    with pytest.raises(DataError, match="held out by 'every tenth, seed 3', which this minalbert does not know"):
        Split.noted("every tenth, seed 3")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluate_instances": 20}, "only 20 held-out instances: .*; evaluate_instances is 20; a larger number gives"),
        ({"evaluate_instances": 1000}, r"only \d+ held-out instances: .*; more text or --held-out-share gives more"),
        ({"held_out": "other"}, r"only \d+ held-out instances: .*; more text in .*other gives more"),
    ],
)
def test_a_run_says_what_it_is_tested_on_and_what_would_give_more(tmp_path, monkeypatch, changes, words):
    monkeypatch.chdir(tmp_path)
    worlds = TinyWorlds(seed=1)
    for name, count in (("worlds", 40), ("other", 3)):
        build(story_sources(worlds, count), WordTokenizer(worlds.words()), name)
    settings = small_run.small_settings(corpus="worlds", steps=1, held_out_share=0.1, **changes)
    settings, said = settings.change(evaluate_instances=changes.get("evaluate_instances", 1000)), []
    observer = Observer()
    observer.message = said.append
    pretrain(settings, "run", observer=observer)
    tested = "3 documents of other" if "held_out" in changes else "4 of 40 documents, kept from training: one of each"
    assert any(line.startswith(f"tested on {tested}") for line in said), said
    assert any(re.fullmatch(f".*{words}.*", line) for line in said), said
