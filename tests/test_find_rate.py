"""`minalbert find-rate`: the rates are tried in order, the lowest loss is found, and nothing is kept."""

import argparse
import json
import math

import numpy as np
import pytest
from small_run import small_corpus, small_settings, train
from test_plots import inside

from minalbert import Losses, plots
from minalbert.commands import find_rate as find_rate_command
from minalbert.commands.find_rate import search_lines
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import ConfigError
from minalbert.parallel import Workers
from minalbert.plots import rate_curve
from minalbert.train.log import read_lines
from minalbert.train.trials import Trial, averages, find_rate, judged, open_trial

RATES = np.geomspace(1e-6, 1, 121)


def tried(trials=36, **changes):
    return find_rate(small_settings(**changes), trials, small_corpus())


def valley(lowest, rates=RATES, noise=0.0):
    """Losses that stand still at 8, fall to 6 about `lowest`, and rise."""
    decades = np.log10(rates / lowest)
    rng = np.random.default_rng(0)
    return 8 - 2 * np.exp(-2 * decades**2) + noise * rng.standard_normal(len(rates))


@pytest.mark.parametrize("lowest", [1e-3, 2e-2])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_suggestion_is_a_tenth_of_the_rate_of_the_lowest_loss(lowest, noise):
    found = judged(RATES, valley(lowest, noise=noise), 10, "")
    assert found.suggestion == pytest.approx(lowest / 10, rel=0.1 if not noise else 0.6)
    assert found.middles[found.lowest] == pytest.approx(10 * found.suggestion, rel=0.05)


def test_an_average_belongs_to_the_middle_of_its_rates():
    assert averages([1.0, 2.0, 6.0, 7.0], 3) == pytest.approx([3, 5])
    found = judged(np.array([0.01, 0.1, 1.0]), np.array([4.0, 3.0, 2.0]), 3, "")
    assert found.middles == pytest.approx([0.1])


def test_where_the_loss_does_not_fall_nothing_is_suggested():
    noise = 8 + 0.3 * np.random.default_rng(1).standard_normal(121)
    found = judged(RATES, noise, 10, "")
    assert found.suggestion is None
    assert any("no rate is suggested" in line for line in search_lines(found, small_settings()))


@pytest.mark.parametrize(("optimiser", "least", "most"), [("adamw", 1e-3, 1e-2), ("lamb", 2e-3, 2e-2)])
def test_a_small_model_is_told_a_rate_that_suits_it(optimiser, least, most):
    found = tried(100, optimiser=optimiser)
    assert least <= found.suggestion <= most
    assert found.rates[0] == pytest.approx(1e-6)
    assert np.diff(np.log(found.rates)) == pytest.approx(math.log(1e6) / 99)


def test_the_rates_are_those_of_the_optimisers_steps(monkeypatch):
    given, step = [], Trial.step
    monkeypatch.setattr(Trial, "step", lambda self, batch, rate: given.append(rate) or step(self, batch, rate))
    assert given[: len(tried().rates)] == pytest.approx(np.geomspace(1e-6, 1, 36)[: len(given)])
    assert given[0] == pytest.approx(1e-6)


class Strange(Workers):
    """From batch 20 on the loss, or the gradient, is this."""

    loss = instead = None

    def gradient(self, slices, dropout=None, **more):
        found, number = super().gradient(slices, dropout, **more), dropout.step
        if number >= 20 and self.instead is not None:
            found.grads["sop.b"][0] = self.instead
        if number >= 20 and self.loss is not None:
            return found._replace(losses=Losses(self.loss, found.losses.sop, self.loss + found.losses.sop))
        return found


@pytest.mark.parametrize(
    ("name", "value", "trials", "ended"),
    [
        ("loss", 100.0, 21, "4 times the lowest"),
        ("loss", math.inf, 20, "no longer finite"),
        ("instead", math.nan, 20, "no longer finite"),
    ],
)
def test_the_search_ends_where_nothing_more_can_be_found(monkeypatch, name, value, trials, ended):
    monkeypatch.setattr("minalbert.train.trials.Workers", Strange)
    monkeypatch.setattr(Strange, name, value)
    found = tried()
    assert len(found.losses) == len(found.rates) == trials
    assert np.isfinite(found.losses).all()
    assert ended in found.ended


def test_the_search_is_what_its_seed_says():
    assert np.array_equal(tried().losses, tried(workers=1).losses)
    assert not np.array_equal(tried().losses, tried(seed=1).losses)


def test_a_trial_computes_what_a_run_does(tmp_path):
    changes = {"steps": 8, "log_every": 1, "schedule": "constant", "warmup": 0}
    train(tmp_path, **changes)
    run = [line["loss"] for line in read_lines(tmp_path) if line["kind"] == "train"]
    settings = small_settings(**changes)
    with open_trial(settings, 8, small_corpus()) as trial:
        assert [trial.step(next(trial.batches), settings.peak_rate)["loss"] for _ in range(8)] == run


def test_too_few_trials_are_refused():
    with pytest.raises(ConfigError, match=r"trials is 35; it must be a whole number, from 36"):
        tried(35)


def test_the_command_says_how_to_go_on_and_keeps_nothing(tmp_path, monkeypatch, capsys):
    worlds, corpus = TinyWorlds(seed=1), tmp_path / "worlds"
    build(story_sources(worlds, 60), WordTokenizer(worlds.words()), corpus)
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    find_rate_command.add_arguments(parser)
    given = "--trials 36 --corpus worlds --hidden-size 32 --intermediate-size 64 --num-hidden-layers 1".split()
    given += "--max-length 24 --batch 8 --micro-batch 8".split()
    assert find_rate_command.run(parser.parse_args(given)) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "so: minalbert pretrain RUN --rate 0.0" in printed[-1]
    assert sum("lowest" in line and "█" in line for line in printed) == 1
    assert list(tmp_path.iterdir()) == [corpus]
    assert find_rate_command.run(parser.parse_args([*given, "--json"])) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"--rate {found['suggestion']:g}" in printed[-1]
    assert len(found["rates"]) == len(found["losses"])


def test_the_curve_is_drawn_with_its_suggestion(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install 'minalbert[notebooks]')")
    for losses in (valley(1e-2, noise=0.1), 8 + 0 * RATES):
        found = judged(RATES, losses, 10, "")
        drawn = rate_curve(found, "adamw")
        texts = [text.get_text() for text in drawn.axes[0].texts]
        assert any(f"suggested: {found.suggestion or 0:g}" in text for text in texts) == (found.suggestion is not None)
        assert inside(drawn)
        plots.save(drawn, tmp_path / "curve.png")
