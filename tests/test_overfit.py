"""`minalbert overfit`: one batch is learnt by heart, or the first thing to look at is named."""

import argparse
import json
import math
import re

import numpy as np
import pytest
from small_run import small_corpus, small_settings
from test_find_rate import Strange

from minalbert.commands import overfit as overfit_command
from minalbert.errors import ConfigError
from minalbert.train.settings import Settings
from minalbert.train.trials import LEARNT, Trial, first_thing, overfit, own_rate

PLAIN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "optimiser": "adamw", "rate": None}


def tried(trials=200, **changes):
    return overfit(small_settings(**PLAIN | changes), trials, small_corpus())


@pytest.mark.parametrize("optimiser", ["adamw", "lamb"])
def test_a_batch_is_learnt_by_heart_and_then_it_ends(optimiser):
    outcome = tried(optimiser=optimiser)
    losses = [found["loss"] for found in outcome.losses]
    assert outcome.learnt
    assert outcome.advice is None
    assert losses[-1] < LEARNT * losses[0] <= min(losses[:-1])
    assert len(losses) < 200


def test_every_step_sees_the_same_batch(monkeypatch):
    seen, step = [], Trial.step
    monkeypatch.setattr(Trial, "step", lambda self, batch, rate: seen.append(batch) or step(self, batch, rate))
    tried(20)
    assert len(seen) == 20
    for parts in seen:
        assert len(parts) == 4
        assert all(np.array_equal(one, other) for part, first in zip(parts, seen[0], strict=True)
                   for one, other in zip(part, first, strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"rate": 1e-7}, "the rate: the loss hardly moved; try --rate 1e-06"),
        ({"rate": 1e-3}, "the rate, or patience: .* try --rate 0.003, or more --trials"),
        ({"rate": 1.0}, "the rate: the loss rose; try --rate 0.1, and .* `minalbert gradcheck`"),
        ({"rate": 1e-3, "hidden_dropout_prob": 0.5}, "dropout, .*--hidden-dropout-prob 0"),
        ({"rate": 1e-3, "initializer_range": 1e-5}, "initializer_range is 1e-05, usual is 0.02"),
    ],
)
def test_what_is_not_learnt_has_a_reason(changes, advice):
    outcome = tried(40, **changes)
    assert not outcome.learnt
    assert len(outcome.losses) == 40
    assert re.search(advice, outcome.advice)


def test_a_loss_that_is_not_finite_is_the_rates_fault(monkeypatch):
    monkeypatch.setattr("minalbert.train.trials.Workers", Strange)
    monkeypatch.setattr(Strange, "instead", math.nan)
    outcome = tried(rate=1e-4)
    assert len(outcome.losses) == 21
    assert not outcome.learnt
    assert outcome.advice == "the rate: the loss was no longer finite at trial 21; try --rate 1e-05"


def test_a_loss_that_rises_and_stays_is_no_rate_too_low():
    losses = [8.0, *np.linspace(8, 20, 20), *[20.0] * 80]
    assert "the loss rose; try --rate 0.01" in first_thing(losses, Settings().model, 0.1)


def test_the_tests_own_rate_is_for_few_steps_and_yields_to_the_settings():
    def own(settings):
        return own_rate(settings.optimiser, settings.model.hidden_size)

    assert own(Settings()) == 0.003
    assert own(Settings(preset="albert-base-v2")) == 0.0003
    assert own(Settings().change(optimiser="lamb")) == 0.01
    assert own(Settings().change(rate=0.5)) == 0.5


def test_too_few_trials_are_refused():
    with pytest.raises(ConfigError, match=r"trials is 19; it must be a whole number, from 20"):
        tried(19)


def test_the_command_ends_with_a_verdict_and_a_code(tmp_path, capsys, worlds_on_disk):
    parser = argparse.ArgumentParser()
    overfit_command.add_arguments(parser)
    given = f"--corpus {worlds_on_disk} --hidden-size 32 --intermediate-size 64 --num-hidden-layers 1".split()
    given += "--max-length 24 --batch 8 --micro-batch 8".split()
    assert overfit_command.run(parser.parse_args(given)) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "one batch of 8, adamw at rate 0.006"
    assert [line.split()[0] for line in printed[2:7]] == ["1", "2", "5", "10", "20"]
    assert printed[-1].startswith("learnt by heart: the loss is below 1/20 of the first, after ")
    assert overfit_command.run(parser.parse_args([*given, "--trials", "20", "--rate", "1e-6"])) == 1
    assert "look first at the rate" in capsys.readouterr().out
    assert overfit_command.run(parser.parse_args([*given, "--trials", "20", "--json"])) == 1
    assert len(json.loads(capsys.readouterr().out)["losses"]) == 20


@pytest.fixture(scope="module")
def worlds_on_disk(tmp_path_factory):
    from minalbert.data.build import build
    from minalbert.data.sources import story_sources
    from minalbert.data.tiny_worlds import TinyWorlds
    from minalbert.data.word_tokenizer import WordTokenizer

    worlds, corpus = TinyWorlds(seed=1), tmp_path_factory.mktemp("corpus") / "worlds"
    build(story_sources(worlds, 60), WordTokenizer(worlds.words()), corpus)
    return corpus


def test_a_corpus_without_pairs_is_learnt_too(capsys):
    settings = small_settings(pairs="none", optimiser="adamw", rate=0.01, hidden_dropout_prob=0.0)
    outcome = overfit(settings, trials=20, corpus=small_corpus())
    assert outcome.losses[-1]["sop_loss"] is None
    assert all(
        line.endswith("-") for line in overfit_command.result_lines(outcome, settings) if line.strip()[:1].isdigit()
    )
