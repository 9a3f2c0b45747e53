"""What would spoil a run is refused, and a run that was stopped refuses the same."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from small_run import StopAt, computed, events, train

from minalbert import Losses
from minalbert.errors import TrainError
from minalbert.parallel import Workers
from minalbert.train import assemble, checkpoint, saved_steps
from minalbert.train import state as state_module
from minalbert.train.log import read_lines
from minalbert.train.watch import SpikeWatch


class Poisoned(Workers):
    """Gives a gradient that is not finite, or a great loss, for some batches."""

    kinds = {}  # noqa: RUF012

    def gradient(self, slices, dropout=None, **more):
        found, number = super().gradient(slices, dropout, **more), dropout.step
        if self.kinds.get(number) == "nan":
            found.grads["encoder.ffn.up.w"][0, 0] = math.nan
        if self.kinds.get(number) == "great":
            mlm, sop, total = found.losses
            return found._replace(losses=Losses(mlm + 1e3, sop, total + 1e3))
        return found


@pytest.fixture
def poison(monkeypatch):
    monkeypatch.setattr(assemble, "Workers", Poisoned)
    return lambda kind, *numbers: monkeypatch.setattr(Poisoned, "kinds", dict.fromkeys(numbers, kind))


def test_a_step_that_is_not_finite_is_refused_and_named(tmp_path, poison):
    poison("nan", 5)
    outcome = train(tmp_path / "run", steps=12)
    assert outcome.step == 12
    (said,) = events(tmp_path / "run", "not finite")
    assert "batch 5" in said["text"]
    assert "the first bad gradient is that of encoder.ffn.up.w; no step was made" in said["text"]
    assert np.isfinite(outcome.model.params.flat).all()
    poison("nan")
    train(tmp_path / "other", steps=12, pass_over="5:6")  # the same run, told beforehand to leave that batch out
    assert computed(tmp_path / "run")["hash"] == computed(tmp_path / "other")["hash"]


def test_after_refusals_in_a_row_the_run_goes_back_and_can_be_replayed(tmp_path, poison):
    poison("nan", *range(10, 15))
    outcome = train(tmp_path / "run", steps=20, patience=5)
    assert outcome.step == 20
    (said,) = events(tmp_path / "run", "rolled back")
    assert said["step"] == 8
    assert said["text"] == "back to the checkpoint of step 8; batches 8 to 14 are passed over"
    assert checkpoint.load(tmp_path / "run")[1].extra["passed_over"] == [[8, 15]]
    poison("nan")
    train(tmp_path / "replay", steps=20, pass_over="8:15")
    assert computed(tmp_path / "run")["hash"] == computed(tmp_path / "replay")["hash"]


def test_a_run_that_only_fails_ends_with_a_sentence(tmp_path, poison):
    poison("nan", *range(10, 1000))
    with pytest.raises(TrainError, match=r"went back to step 8 3 times and came no further; a smaller rate than 0.01"):
        train(tmp_path, steps=20)
    assert checkpoint.steps(tmp_path)[-1] == 8


@pytest.mark.parametrize(("spikes", "event"), [("skip", "spike"), ("rollback", "rolled back"), ("note", "spike")])
def test_a_spike_is_met_as_the_settings_say(tmp_path, poison, spikes, event):
    poison("great", 21)
    outcome = train(tmp_path, steps=30, spikes=spikes, spike_window=8)
    assert outcome.step == 30
    assert events(tmp_path, event)
    (said,) = events(tmp_path, "spike")
    assert "batch 21: loss 100" in said["text"]
    assert ("no step was made" in said["text"]) == (spikes != "note")
    _, state, _, _ = checkpoint.load(tmp_path)
    assert state.batch_index == {"skip": 31, "note": 30, "rollback": 32}[spikes]


def test_a_stop_among_refused_batches_changes_no_bit(tmp_path, poison, monkeypatch):
    """The checkpoint of step 20 is from before the batches refused after it, also for who stops there."""
    changes = {"steps": 32, "every": 4, "patience": 2, "spike_window": 8}
    poison("nan", 20, 21, 22)
    train(tmp_path / "whole", **changes)
    for looks in (21, 22, 23):
        run = tmp_path / f"run{looks}"
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, looks=looks: StopAt(looks))
            assert train(run, **changes).code == 75
        train(run, **changes)
        assert computed(run) == computed(tmp_path / "whole")


def test_a_run_that_refused_batches_goes_on_with_the_same_data_and_the_same_judgement(tmp_path, poison, monkeypatch):
    """Batches are then ahead of steps, and the spike is one only beside the losses from before the stop."""
    changes = {"steps": 40, "spike_window": 8, "every": 100}
    monkeypatch.setattr(Poisoned, "kinds", {5: "nan", 30: "great"})
    train(tmp_path / "whole", **changes)
    assert "batch 30" in events(tmp_path / "whole", "spike")[0]["text"]
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(28))
        assert train(tmp_path / "run", **changes).code == 75
    train(tmp_path / "run", **changes)
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")


def test_checkpoints_of_a_way_given_up_are_removed(tmp_path, poison, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(10))
        train(tmp_path, steps=20)  # saved at step 10, which is no regular one
    assert checkpoint.steps(tmp_path)[-1] == 10
    poison("nan", *range(10, 15))
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(6))
        outcome = train(tmp_path, steps=20)
    assert outcome.step == 9
    assert checkpoint.steps(tmp_path)[-1] == 9


def test_a_run_goes_back_to_checkpoints_saved_at_other_intervals(tmp_path, poison):
    train(tmp_path, steps=8)
    poison("nan", *range(9, 14))
    train(tmp_path, steps=20, every=5)
    (said,) = events(tmp_path, "rolled back")
    assert "back to the checkpoint of step 8" in said["text"]


def test_refused_batches_are_in_the_checkpoint(tmp_path, poison):
    poison("nan", 3, 7)
    train(tmp_path, steps=12)
    assert checkpoint.load(tmp_path)[1].extra["refused"] == [3, 7]


def test_when_the_clock_runs_out_on_a_refused_batch_the_end_is_evaluated(tmp_path, poison, monkeypatch):
    poison("nan", 12)
    fraction = property(lambda state: 1.0 if 12 in state.refused else None)
    monkeypatch.setattr(state_module.RunState, "time_fraction", fraction)
    outcome = train(tmp_path, steps=50)
    assert outcome.step == 12
    assert [line["step"] for line in read_lines(tmp_path) if line["kind"] == "eval"] == [0, 10, 12]


def test_what_stays_high_is_no_spike_for_long():
    watch = SpikeWatch(SimpleNamespace(spikes="skip", spike_sigmas=6.0, spike_window=16, patience=99))
    rng = np.random.default_rng(0)
    assert not any(watch.judge(1 + 0.1 * rng.random(), 1.0).refused for _ in range(40))
    refused = [watch.judge(3 + 0.1 * rng.random(), 1.0).refused for _ in range(20)]
    assert refused[0]
    assert not any(refused[3:])


def test_norms_are_judged_by_factors():
    """A norm of 9 after some around 3 is the long tail that norms have; 90 is not."""
    watch = SpikeWatch(SimpleNamespace(spikes="skip", spike_sigmas=6.0, spike_window=128, patience=99))
    rng = np.random.default_rng(0)
    for _ in range(128):
        watch.judge(1.0 + 0.1 * rng.random(), 3 * math.exp(0.25 * rng.standard_normal()))
    assert not watch.judge(1.0, 9.0).refused
    assert watch.judge(1.0, 90.0).text.startswith("gradient norm 90 is above 1")


def test_a_stopped_run_judges_as_one_that_was_not():
    rules = SimpleNamespace(spikes="skip", spike_sigmas=2.0, spike_window=8, patience=99)
    values = np.random.default_rng(1).standard_normal(100)
    one, verdicts = SpikeWatch(rules), []
    for value in values:
        verdicts.append(one.judge(value, math.exp(value)).refused)
    again, other = [], SpikeWatch(rules)
    for value in values:
        other = SpikeWatch(rules, other.memory)
        again.append(other.judge(value, math.exp(value)).refused)
    assert verdicts == again
    assert any(verdicts)


def test_a_run_that_could_never_save_has_nothing_to_go_back_to(tmp_path, poison, monkeypatch):
    poison("nan", *range(2, 10))
    monkeypatch.setattr(saved_steps, "steps", lambda run: [])
    with pytest.raises(TrainError, match="has no checkpoint to go back to"):
        train(tmp_path, steps=20)


def test_a_run_whose_weights_explode_is_named_without_numpys_warnings(tmp_path, recwarn, capsys):
    with pytest.raises(TrainError, match="a smaller rate than 100 may help"):
        train(tmp_path, steps=40, optimiser="adamw", rate=100.0, weight_decay=100.0, warmup=0, schedule="constant")
    assert [str(warning.message) for warning in recwarn if issubclass(warning.category, RuntimeWarning)] == []
    assert events(tmp_path, "not finite")
