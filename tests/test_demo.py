"""The demo: a corpus, a run, and what it shows of itself. That it reaches SOP 0.9 takes two minutes: `make demo`."""

import json
import re

import pytest

from minalbert.commands import demo, main
from minalbert.data.shards import Corpus
from minalbert.train import checkpoint
from minalbert.train.log import read_lines


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "STORIES", 300)
    monkeypatch.setattr(demo, "RECIPE", demo.RECIPE.change(evaluate_every=20, evaluate_instances=50, every=20))


def test_the_demo_shows_all_that_it_did(small, tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--steps", "40"]) == 0
    said = capsys.readouterr().out
    for number, part in enumerate(("A corpus: 300 stories", "Pretraining: 111,096 weights", "What it learnt",
                                   "Hidden words", "Which came first?", "The curves"), 1):  # fmt: skip
        assert f"{number}  {part}" in said
    assert re.search(r"begin +0\.\d%", said)
    assert re.search(r"guessing +\d+\.\d% +\d\.\d{3} +50\.0%", said)
    assert said.count("it was: ") == 3
    assert said.count("right") + said.count("wrong") == 2
    shares = [float(share) for share in re.findall(r"([\d.]+)%", said.split("time: ")[1].split("\n")[0])]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert (out / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert f"--model {out / 'run'}" in said


def test_what_it_says_next_works(small, tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--steps", "4"]) == 0
    sentence = re.search(r'minalbert fill "([^"]*)"', capsys.readouterr().out)[1]
    assert main(["fill", sentence, "--model", str(out / "run")]) == 0
    assert "[MASK] may be" in capsys.readouterr().out
    assert main(["plot", str(out / "run"), "--out", str(tmp_path / "curves.png")]) == 0
    run = str(tmp_path / "own")
    assert main(["pretrain", run, "--corpus", str(out / "worlds"), "--steps", "2", "--evaluate-instances", "20"]) == 0


def test_a_demo_that_is_done_is_shown_again(small, tmp_path, capsys):
    command = ["demo", "--out", str(tmp_path / "demo"), "--steps", "20", "--json", "--optimiser", "lamb"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    lines = read_lines(tmp_path / "demo" / "run")
    assert main(command) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["masked"] == second["masked"]
    assert first["before"] == second["before"]
    assert first["after"] == second["after"]
    assert first["order"]["swapped"] == second["order"]["swapped"]
    trained = [line for line in read_lines(tmp_path / "demo" / "run") if line["kind"] == "train"]
    assert trained == [line for line in lines if line["kind"] == "train"]


def test_another_demo_in_the_same_place_is_refused(small, tmp_path, capsys):
    command = ["demo", "--out", str(tmp_path / "demo"), "--steps", "4"]
    assert main(command) == 0
    assert main([*command, "--seed", "1"]) == 2
    assert "seed is 1" in capsys.readouterr().err


def test_stories_it_is_asked_about_are_in_no_corpus(small, tmp_path):
    main(["demo", "--out", str(tmp_path / "demo"), "--steps", "4", "--json"])
    corpus = Corpus.open(tmp_path / "demo" / "worlds")
    told = {tuple(document.sentences) for document in demo.WORLDS.documents(0, demo.STORIES)}
    asked = {tuple(document.sentences) for document in demo.WORLDS.documents(demo.STORIES, demo.STORIES + 5)}
    assert corpus.totals()["documents"] == demo.STORIES
    assert not told & asked


@pytest.mark.slow
def test_the_recipe_leaves_the_plateau_within_some_seconds(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(demo, "STORIES", 5000)
    assert main(["demo", "--out", str(tmp_path), "--steps", "500", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"]["mlm_loss"] < 0.95 * found["baselines"]["unigram_entropy"]
    assert found["after"]["mlm_accuracy"] > found["baselines"]["most_frequent_word"] + 0.05
    assert checkpoint.steps(tmp_path / "run")[-1] == 500


def test_the_demo_runs_the_kernels_that_are_asked_for(small, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--steps", "4", "--kernels", "fused"]) == 0
    assert "fused kernels; --kernels plain runs the files that you read" in capsys.readouterr().err
    assert 'kernels = "fused"' in (tmp_path / "demo" / "run" / "config.toml").read_text()
