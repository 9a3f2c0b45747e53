"""A fine-tuning keeps its best step, stands for it, and ends where nothing better comes."""

import json

import numpy as np
import pytest
from small_run import StopAt, computed, events
from small_task import small_place, train

from minalbert import Albert
from minalbert.commands import main
from minalbert.errors import NoRoomError
from minalbert.tasks.dev_test import DevTest
from minalbert.train import assemble, checkpoint, open_trained, saved_steps
from minalbert.train.best import BestStep
from minalbert.train.state import Checkpoints

SHORT = {"steps": 12, "evaluate_every": 2, "every": 3, "keep": 1, "dev_examples": 8, "batch": 4}
SCORES = 0.9, 0.2, 0.5, 0.4, 0.5, 0.3, 0.1  # of steps 0, 2, 4, ...: the best is step 4


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_place(tmp_path_factory.mktemp("place"))


@pytest.fixture
def scripted(monkeypatch):
    """Evaluations have the scores that are given, in turn."""

    def script(scores):
        left = iter(scores)
        monkeypatch.setattr(
            DevTest, "__call__", lambda test, model: test.scores(*[next(left)] * len(test.scores._fields))
        )

    return script


def judged(scores, stop_after=0, memory=None):
    best = BestStep("f1", stop_after, memory)
    for step, score in enumerate(scores, 1):
        best.judge(step, {"f1": score, "accuracy": -score})
    return best


@pytest.mark.parametrize(
    ("scores", "step", "waiting"),
    [([0.1], 1, 0), ([0.1, 0.3, 0.2], 2, 1), ([0.2, 0.2, 0.2], 1, 2), ([np.nan, np.nan], 1, 1),
     ([np.nan, -0.5], 2, 0), ([0.1, np.nan, 0.2], 3, 0)],
)  # fmt: skip
def test_the_first_of_the_highest_scores_is_the_best(scores, step, waiting):
    best = judged(scores)
    assert (best.step, best.waiting) == (step, waiting)


def test_a_run_ends_after_so_many_tests_without_a_better_score():
    assert [judged([0.5, 0.5, 0.4, 0.6][:n], 2).exhausted for n in range(5)] == [False, False, False, True, False]
    assert not judged([0.5] + [0.1] * 50).exhausted
    again = judged([0.4], 2, json.loads(json.dumps(judged([0.5, 0.5], 2).memory)))
    assert (again.step, again.exhausted) == (1, True)


def test_the_fresh_weights_are_no_candidate():
    best = BestStep("f1")
    best.judge(0, {"f1": 1.0})
    assert best.memory is None


def test_a_run_stands_for_its_best_step_and_keeps_it(place, tmp_path, scripted):
    scripted(SCORES)
    result = train(tmp_path / "run", place, **SHORT)
    assert result.best["step"] == 4
    assert result.best["scores"]["accuracy"] == 0.5
    assert saved_steps.steps(tmp_path / "run") == [4, 12]
    found = open_trained(tmp_path / "run")
    assert found.directory.name == "step-00000004"
    last = Albert.from_pretrained(tmp_path / "run" / "step-00000012")
    assert (last.params.flat != found.model.params.flat).any()
    assert (last.params.flat == result.model.params.flat).all()


def test_a_stopped_run_chooses_and_ends_as_one_that_was_not(place, tmp_path, scripted, monkeypatch):
    scripted(SCORES)
    whole = train(tmp_path / "whole", place, **SHORT, stop_after=3)
    assert (whole.step, whole.code, whole.best["step"]) == (10, 0, 4)
    (early,) = events(tmp_path / "whole", "stopped early")
    assert early["text"] == "3 tests brought no better accuracy than the 0.500 of step 4"
    scripted(SCORES)
    for looks in (5, 3):  # at steps 5 and 8
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, looks=looks: StopAt(looks))
            assert train(tmp_path / "run", place, **SHORT, stop_after=3).code == 75
    assert train(tmp_path / "run", place, **SHORT, stop_after=3).best == whole.best
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")
    assert saved_steps.steps(tmp_path / "run") == saved_steps.steps(tmp_path / "whole") == [4, 9, 10]
    before = computed(tmp_path / "run")
    scripted([0.1])
    assert train(tmp_path / "run", place, **SHORT, stop_after=3).step == 10
    assert computed(tmp_path / "run") == before


def test_the_best_step_is_not_removed_to_make_room(place, tmp_path, scripted, monkeypatch):
    """The newest cannot be saved at first: of the three there are, the oldest but the best goes."""
    scripted(SCORES)
    train(tmp_path / "run", place, **SHORT | {"keep": 3, "steps": 8, "every": 1})
    assert saved_steps.steps(tmp_path / "run") == [4, 6, 7, 8]
    assert checkpoint.remove_oldest(tmp_path / "run", {4}) == 6
    assert checkpoint.remove_oldest(tmp_path / "run", {4}) == 7
    assert checkpoint.remove_oldest(tmp_path / "run", {4}) is None
    assert saved_steps.steps(tmp_path / "run") == [4, 8]
    asked = []
    monkeypatch.setattr(checkpoint, "remove_oldest", lambda run, always: asked.append(always))
    monkeypatch.setattr("minalbert.train.state.PAUSES", ())
    monkeypatch.setattr(Checkpoints, "save_in_run", no_room)
    with pytest.raises(NoRoomError):
        train(tmp_path / "run", place, **SHORT | {"keep": 3, "steps": 9, "every": 100})
    assert asked == [{4}]


def no_room(*_):
    raise NoRoomError("no room")


def test_the_command_says_where_the_best_step_is(place, tmp_path, scripted, capsys):
    words = ["finetune", str(tmp_path / "run"), "--task", "custom", "--data", str(place / "before"), "--model",
             str(place / "model"), "--batch", "4", "--steps", "8", "--evaluate-every", "2", "--stop-after", "1",
             "--workers", "1"]  # fmt: skip
    scripted([0.5, 0.7, 0.6])
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"the best accuracy is that of step 2: it is what --model {tmp_path / 'run'} reads" in said
    scripted([0.6])
    assert main(words) == 0
    said = capsys.readouterr()
    assert "is finished: 4 steps" in said.err
    assert "resuming" not in said.err
