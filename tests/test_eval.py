"""`minalbert eval`: a run's own evaluation once more, or the scores on another corpus, and never on a wrong one."""

import argparse
import json
import shutil

import numpy as np
import pytest
from small_run import small_settings

from minalbert import Albert
from minalbert.commands import eval as eval_command
from minalbert.data.build import build
from minalbert.data.instances import Instances
from minalbert.data.shards import Corpus
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import ConfigError, DataError, TrainError
from minalbert.train import pretrain
from minalbert.train.evaluation import baselines
from minalbert.train.filling import fill
from minalbert.train.log import read_lines
from minalbert.train.trained import open_trained
from minalbert.train.training_data import first_of

WORLDS = TinyWorlds(seed=1)


def stories(directory, count, words=()):
    return build(story_sources(WORLDS, count), WordTokenizer([*WORLDS.words(), *words]), directory)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """worlds, other and strange corpora, and a run on the first."""
    root = tmp_path_factory.mktemp("eval")
    for name, count, words in (("worlds", 40, ()), ("other", 7, ()), ("strange", 7, ("quark",))):
        stories(root / name, count, words)
    settings = small_settings(corpus=str(root / "worlds"), steps=20, seed=3, workers=1)
    pretrain(settings, root / "run")
    return root


@pytest.fixture
def scores(capsys):
    def run(*argv):
        parser = argparse.ArgumentParser()
        eval_command.add_arguments(parser)
        assert eval_command.run(parser.parse_args([*map(str, argv), "--json"])) == 0
        return json.loads(capsys.readouterr().out)

    return run


def lines_of(run, kind):
    return [line for line in read_lines(run) if line["kind"] == kind]


@pytest.mark.parametrize(("model", "last"), [("run", True), ("run/step-00000016", False), ("run/step-00000020", True)])
def test_a_run_alone_repeats_its_own_evaluation_to_the_digit(place, scores, model, last):
    found = scores(place / model)
    assert found["instances"] == 32
    logged = lines_of(place / "run", "eval")[-1]
    same = all(found["evaluation"][name] == logged[name] for name in found["evaluation"])
    assert same == last
    (start,) = lines_of(place / "run", "start")
    assert found["baselines"] == {name: start[name] for name in found["baselines"]}


def test_another_corpus_is_scored_whole_against_its_own_words(place, scores):
    found = scores(place / "run", "--corpus", place / "other", "--sample", 10_000)
    own = scores(place / "run", "--sample", 10_000)
    assert "7 documents" in found["documents"]
    assert found["counted"] == "these documents themselves"
    assert found["baselines"] != own["baselines"]
    corpus = Corpus.open(place / "other")
    instances = Instances(corpus, corpus.tokenizer(), small_settings().recipe, seed=3)
    assert found["baselines"] == baselines(corpus, first_of(instances, 10_000))._asdict()
    fewer = scores(place / "run", "--corpus", place / "other", "--sample", 5)
    assert fewer["instances"] == 5 < found["instances"]


def test_recipe_and_seed_are_the_runs_unless_they_are_said(place, scores):
    found = scores(place / "run")
    assert scores(place / "run", "--seed", 3, "--max-length", 24) == found
    assert scores(place / "run", "--seed", 4)["evaluation"] != found["evaluation"]
    assert scores(place / "run", "--max-length", 16)["evaluation"] != found["evaluation"]


def test_a_model_of_no_run_needs_a_corpus(place, scores, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(place / "run" / "step-00000020", model)
    (model / "state.json").unlink()
    shutil.copy(place / "run" / "tokenizer.json", model)
    with pytest.raises(ConfigError, match=r"model belongs to no run, .* name one with --corpus"):
        scores(model)
    found = scores(model, "--corpus", place / "other", "--max-length", 24, "--max-predictions", 4, "--seed", 3)
    assert found["evaluation"] == scores(place / "run", "--corpus", place / "other", "--sample", 1000)["evaluation"]


def test_a_corpus_of_another_tokenizer_and_an_empty_sample_are_refused(place, scores):
    with pytest.raises(ConfigError, match=r"sample is 0; it must be a whole number, at least 1"):
        scores(place / "run", "--sample", 0)
    with pytest.raises(DataError, match=r"the tokenizer \(digest .* is not the one this corpus was made with"):
        scores(place / "run", "--corpus", place / "strange")


def test_a_corpus_made_anew_is_not_taken_for_the_runs_own(place, scores, tmp_path):
    for name in ("worlds", "run"):
        shutil.copytree(place / name, tmp_path / name)
    config = tmp_path / "run" / "config.toml"
    text = config.read_text(encoding="utf-8")
    names = [json.dumps(str(root / "worlds")) for root in (place, tmp_path)]
    config.write_text(text.replace(*names), encoding="utf-8")
    assert scores(tmp_path / "run")["evaluation"] == scores(place / "run")["evaluation"]
    shutil.rmtree(tmp_path / "worlds")
    stories(tmp_path / "worlds", 41)
    with pytest.raises(TrainError, match=r"the held-out data is .*; .* was tested on .*--corpus"):
        scores(tmp_path / "run")


def test_the_screen_has_the_scores_beside_the_guesses(place, capsys, monkeypatch, scores):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    parser = argparse.ArgumentParser()
    eval_command.add_arguments(parser)
    assert eval_command.run(parser.parse_args([str(place / "run")])) == 0
    printed = capsys.readouterr()
    assert printed.err == "scoring 32 instances ...\n"
    head, names, model, guessing, said = printed.out.splitlines()
    found = scores(place / "run")
    assert head.endswith(f"32 instances of the 20.0% of {place / 'worlds'} that were kept from training")
    assert names.split()[:3] == ["held-out", "MLM", "accuracy"]
    assert float(model.split()[2]) == pytest.approx(found["evaluation"]["mlm_loss"], abs=5e-4)
    assert guessing.split()[0] == "guessing"
    assert float(guessing.split()[2]) == pytest.approx(found["baselines"]["unigram_entropy"], abs=5e-4)
    assert guessing.endswith("50.0%")
    assert said.endswith("in the training documents, a random order")
    assert np.isfinite(found["evaluation"]["sop_recall_swapped"])


@pytest.mark.parametrize("way", ["fill --tokenizer", "fill", "eval --corpus", "in Python", "pretrain --weights"])
def test_another_tokenizer_of_equal_size_is_refused(way, place, scores, tmp_path):
    wrong = WordTokenizer(WORLDS.words()[::-1])
    shutil.copytree(place / "run", tmp_path / "run")
    wrong.save(tmp_path / "wrong.json")
    if way in ("fill", "eval --corpus"):
        wrong.save(tmp_path / "run" / "tokenizer.json")
    build(story_sources(WORLDS, 40), wrong, tmp_path / "wrong")
    ways = {
        "fill --tokenizer": lambda: open_trained(tmp_path / "run", tmp_path / "wrong.json"),
        "fill": lambda: open_trained(tmp_path / "run"),
        "eval --corpus": lambda: scores(tmp_path / "run", "--corpus", tmp_path / "wrong"),
        "in Python": lambda: fill(
            Albert.from_pretrained(tmp_path / "run" / "step-00000020"), wrong, "ada met [MASK] ."
        ),
        "pretrain --weights": lambda: pretrain(
            small_settings(corpus=str(tmp_path / "wrong"), weights=str(tmp_path / "run"), steps=1), tmp_path / "new"
        ),
    }
    with pytest.raises(DataError, match=r"has the digest \w{12}, but the model was trained with that of \w{12}, whose"):
        ways[way]()


def test_a_saved_directory_remembers_its_tokenizer(place, tmp_path):
    model, tokenizer, _ = open_trained(place / "run")
    model.save_pretrained(tmp_path / "mine", tokenizer)
    assert open_trained(tmp_path / "mine").tokenizer.digest == tokenizer.digest == model.tokenizer_digest
    wrong = WordTokenizer(WORLDS.words()[::-1])
    for again in (Albert.from_pretrained(tmp_path / "mine"), Albert.from_pretrained(tmp_path / "mine").copy()):
        with pytest.raises(DataError, match="but the model was trained with"):
            fill(again, wrong, "ada met [MASK] .")
