"""Functions of somebody's own in a run: `pretrain(own_code=...)`, and how `--with` gets them."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import small_run

from minalbert.commands import main, own_code
from minalbert.errors import ConfigError, MissingLibraryError
from minalbert.model import PLAIN
from minalbert.train import checkpoint, pretrain
from minalbert.train.trials import overfit

CHANGES = {"steps": 8, "every": 4}


class Own:
    """A student's attention half, which counts its calls and else is ours."""

    facts = {"your code": "attention half, version 1"}  # noqa: RUF012

    def __init__(self, lamb=None):
        self.calls, self.lamb, self.kept = 0, lamb, []
        forward, _ = PLAIN.attention_half

        def counted(*arguments):
            self.calls += 1
            return forward(*arguments)

        self.pairs = PLAIN._replace(attention_half=PLAIN.attention_half._replace(forward=counted))

    def __str__(self):
        return "attention half"

    def optimiser(self, lamb):
        return self.lamb and self.lamb(lamb)

    def keep(self, folder):
        self.kept.append(folder)


def test_the_model_of_a_run_calls_the_given_pairs_and_the_checkpoint_says_so(tmp_path):
    own, settings = Own(), small_run.small_settings(**CHANGES)
    result = pretrain(settings, tmp_path / "own", corpus=small_run.small_corpus(), own_code=own)
    assert own.calls > 8 * 4 * 2  # each step, slice and layer, and in evaluations
    assert own.kept == [tmp_path / "own" / "code"]
    assert result.model.compute.kernels == "plain"
    (event,) = small_run.events(tmp_path / "own", "your code")
    assert event["text"] == "your own code: attention half"
    assert checkpoint.load(tmp_path / "own")[2]["your code"] == Own.facts["your code"]
    small_run.train(tmp_path / "ours", **CHANGES, kernels="plain")
    states = [checkpoint.load(tmp_path / name)[1] for name in ("own", "ours")]
    assert np.array_equal(states[0].params.flat, states[1].params.flat)


def test_a_run_that_resumes_without_the_same_code_says_so(tmp_path):
    settings, corpus = small_run.small_settings(**CHANGES), small_run.small_corpus()
    pretrain(settings, tmp_path, corpus=corpus, own_code=Own())
    pretrain(settings.change(steps=12), tmp_path, corpus=corpus)
    texts = [event["text"] for event in small_run.events(tmp_path, "resumed")]
    assert any(text.startswith("your code is now unknown; the checkpoint was saved with attention") for text in texts)


def test_an_optimiser_of_ones_own_makes_the_steps(tmp_path):
    made = []

    def lamb(ours):
        made.append(ours)
        return SimpleNamespace(step=lambda *arguments: made.append("step") or ours.step(*arguments))

    pretrain(small_run.small_settings(**CHANGES), tmp_path, corpus=small_run.small_corpus(), own_code=Own(lamb))
    assert made[1:] == ["step"] * 8


def test_a_trial_calls_them_too():
    own = Own()
    overfit(small_run.small_settings(), trials=20, corpus=small_run.small_corpus(), own_code=own)
    assert own.calls >= 20


def test_settings_that_name_files_are_no_run_without_their_functions(tmp_path):
    with pytest.raises(ConfigError, match=r"code is 'mine.py'; these functions must be given as own_code"):
        pretrain(small_run.small_settings(code="mine.py"), tmp_path, corpus=small_run.small_corpus())


def test_with_asks_the_package_that_has_the_entry_point(monkeypatch):
    asked = []

    @contextmanager
    def files(paths):
        asked.append(paths)
        yield "functions"

    point = SimpleNamespace(load=lambda: files)
    monkeypatch.setattr(own_code, "entry_points", lambda group, name: [point] * (group == "minalbert.own_code"))
    with own_code.own_code(f"a.py{os.pathsep}b") as own:
        assert own == "functions"
    assert asked == [["a.py", "b"]]
    with own_code.own_code("") as own:
        assert own is None
    monkeypatch.setattr(own_code, "entry_points", lambda group, name: [])
    with pytest.raises(MissingLibraryError, match="--with needs the course"):
        own_code.own_code("a.py")


def test_with_means_plain_kernels_and_others_are_refused(capsys):
    assert main(["pretrain", "nowhere", "--with", "a.py", "--print-config"]) == 0
    assert '\nkernels = "plain"' in capsys.readouterr().out
    assert main(["pretrain", "nowhere", "--with", "a.py", "--kernels", "fused", "--print-config"]) == 2
    assert "kernels is 'fused'; your own functions (--with) need kernels 'plain'" in capsys.readouterr().err
