"""Training goes on to the last bit where it was stopped, refuses what would spoil it, and says what happens."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from small_run import computed, small_corpus, small_settings, train

from minalbert import Albert
from minalbert.config import ConfigError
from minalbert.train import checkpoint, loop, run_directory, standing
from minalbert.train.accumulate import Accumulator
from minalbert.train.errors import TrainError
from minalbert.train.metrics import FILE, read_lines
from minalbert.train.watch import SpikeWatch


def events(run, name):
    return [line for line in read_lines(run) if line.get("event") == name]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody stopped."""
    run = tmp_path_factory.mktemp("whole") / "run"
    outcome = train(run)
    assert outcome.code == 0
    assert outcome.step == 60
    return run


class StopAt:
    """A stop signal that comes in the middle of a step: each look at it counts."""

    def __init__(self, steps):
        self.steps, self.looks = steps, 0

    @property
    def code(self):
        self.looks += 1
        return 75 if self.looks > self.steps else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_a_run_stopped_again_and_again_computes_the_same_bits(whole, tmp_path, monkeypatch):
    run, lives = tmp_path / "run", 0
    while True:
        monkeypatch.setattr(loop, "StopSignals", lambda: StopAt(7))
        outcome = train(run)
        lives += 1
        if outcome.code == 0:
            break
        assert outcome.code == 75
    assert lives == 9
    assert computed(run) == computed(whole)
    assert len(events(run, "resumed")) >= lives - 1


@pytest.mark.parametrize("change", [{"workers": 1}, {"workers": 4}, {"recompute": True}, {"log_every": 3, "keep": 5}])
def test_what_only_costs_time_or_room_changes_no_bit(whole, tmp_path, change):
    train(tmp_path, **change)
    assert computed(tmp_path) == computed(whole)


def test_a_run_is_what_its_seed_says(whole, tmp_path):
    train(tmp_path, seed=1)
    assert computed(tmp_path)["hash"] != computed(whole)["hash"]


def test_a_batch_in_parts_trains_as_one_batch(tmp_path):
    """4 x 4 sequences at a time, or all 16: equal but for the last bits, dropout included."""
    losses = []
    for name, size in (("parts", 4), ("one", 16)):
        train(tmp_path / name, micro_batch=size, dtype="float64", steps=5, log_every=1)  # not an epoch's end
        losses.append([line["loss"] for line in read_lines(tmp_path / name) if line["kind"] == "train"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-9)


def test_a_run_on_the_device_is_a_run_on_the_cpu(tmp_path, device):
    hosts = {}
    for name, place in (("host", "cpu"), ("there", device)):
        train(tmp_path / name, device=place, dtype="float64", steps=8)
        hosts[name] = [line["loss"] for line in read_lines(tmp_path / name) if line["kind"] == "train"]
    np.testing.assert_allclose(hosts["there"], hosts["host"], rtol=1e-10)


def test_every_checkpoint_is_a_directory_that_users_know(whole):
    step = checkpoint.steps(whole)[-1]
    model = Albert.from_pretrained(whole / f"step-{step:08d}")
    _, state, _, _ = checkpoint.load(whole)
    assert np.array_equal(model.params.flat, state.params.flat)


def test_the_log_says_what_was_done(whole):
    lines = read_lines(whole)
    assert lines[0]["kind"] == "start"
    assert lines[0]["parameters"] == checkpoint.load(whole)[1].params.flat.size
    assert [line["step"] for line in lines if line["kind"] == "train"] == list(range(3, 61, 3))
    assert [line["step"] for line in lines if line["kind"] == "eval"] == list(range(0, 61, 10))
    for line in lines:
        if line["kind"] == "train":
            assert line["loss"] == pytest.approx(line["mlm_loss"] + line["sop_loss"])
            assert len(line["trust_ratios"]) == 13
            assert all(ratio > 0 for ratio in line["trust_ratios"].values())
    train_lines = [line for line in lines if line["kind"] == "train"]
    assert train_lines[0]["rate"] == pytest.approx(0.01 * (1 - 2 / 60))
    assert train_lines[-1]["loss"] < train_lines[0]["loss"]


# What must not happen.


class Poisoned(Accumulator):
    """Gives a gradient that is not finite, or a great loss, for some batches."""

    numbers, kind = (), "nan"

    def __call__(self, parts, seed, number):
        sums = super().__call__(parts, seed, number)
        if number in self.numbers:
            if self.kind == "nan":
                sums.grads["encoder.ffn.up.w"][0, 0] = math.nan
            else:
                return sums._replace(mlm=sums.mlm + 1e3)
        return sums


@pytest.fixture
def poison(monkeypatch):
    monkeypatch.setattr(loop, "Accumulator", Poisoned)
    yield lambda kind, *numbers: (setattr(Poisoned, "kind", kind), setattr(Poisoned, "numbers", numbers))
    Poisoned.numbers = ()


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
    assert state.position == {"skip": 31, "note": 30, "rollback": 32}[spikes]


def test_a_stop_among_refused_batches_changes_no_bit(tmp_path, poison, monkeypatch):
    """The checkpoint of step 20 is from before the batches refused after it, also for who stops there."""
    changes = {"steps": 32, "every": 4, "patience": 2, "spike_window": 8}
    poison("nan", 20, 21, 22)
    train(tmp_path / "whole", **changes)
    for looks in (21, 22, 23):
        run = tmp_path / f"run{looks}"
        with monkeypatch.context() as patch:
            patch.setattr(loop, "StopSignals", lambda looks=looks: StopAt(looks))
            assert train(run, **changes).code == 75
        train(run, **changes)
        assert computed(run) == computed(tmp_path / "whole")


def test_checkpoints_of_a_way_given_up_are_removed(tmp_path, poison, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(loop, "StopSignals", lambda: StopAt(10))
        train(tmp_path, steps=20)  # saved at step 10, which is no regular one
    assert checkpoint.steps(tmp_path)[-1] == 10
    poison("nan", *range(10, 15))
    with monkeypatch.context() as patch:
        patch.setattr(loop, "StopSignals", lambda: StopAt(6))
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
    ahead = property(lambda standing: 1.0 if 12 in standing.refused else None)
    monkeypatch.setattr(standing.Standing, "ahead", ahead)
    outcome = train(tmp_path, steps=50)
    assert outcome.step == 12
    assert [line["step"] for line in read_lines(tmp_path) if line["kind"] == "eval"] == [0, 10, 12]


def test_a_time_limit_that_is_not_met_changes_no_bit(whole, tmp_path):
    train(tmp_path, minutes=60.0)
    assert computed(tmp_path) == computed(whole)


def test_a_time_limit_that_is_met_ends_the_run_at_a_low_rate(tmp_path):
    outcome = train(tmp_path, minutes=0.02, steps=100_000, log_every=1)
    assert 0 < outcome.step < 100_000
    rates = [line["rate"] for line in read_lines(tmp_path) if line["kind"] == "train"]
    assert rates[-1] < 0.2 * max(rates)
    (said,) = events(tmp_path, "time is up")
    assert f"ended the run at step {outcome.step} of 100,000" in said["text"]
    assert outcome.seconds < 30


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
    settings = SimpleNamespace(spikes="skip", spike_sigmas=2.0, spike_window=8, patience=99)
    values = np.random.default_rng(1).standard_normal(100)
    one, verdicts = SpikeWatch(settings), []
    for value in values:
        verdicts.append(one.judge(value, math.exp(value)).refused)
    again, other = [], SpikeWatch(settings)
    for value in values:
        other = SpikeWatch(settings, other.memory)
        again.append(other.judge(value, math.exp(value)).refused)
    assert verdicts == again
    assert any(verdicts)


# Where a run cannot begin or go on.


def test_a_run_goes_on_from_a_step_that_is_named(whole, tmp_path):
    run = tmp_path / "run"
    train(run, keep=100)
    loop.pretrain(small_settings(keep=100), run, corpus=small_corpus(), quiet=True, from_step=20)
    assert computed(run) == computed(whole)


def test_other_data_is_refused(tmp_path):
    train(tmp_path, steps=4)
    with pytest.raises(TrainError, match=r"the data is .* documents, .* goes on with that only"):
        loop.pretrain(small_settings(steps=8), tmp_path, corpus=small_corpus(31), quiet=True)


def test_a_run_that_is_refused_keeps_its_settings(tmp_path):
    train(tmp_path, steps=4)
    before = (tmp_path / run_directory.CONFIG).read_text()
    with pytest.raises(TrainError, match="the data is"):
        loop.pretrain(small_settings(steps=8), tmp_path, corpus=small_corpus(31), quiet=True)
    assert (tmp_path / run_directory.CONFIG).read_text() == before


def test_dropout_may_change_on_the_way(tmp_path):
    train(tmp_path, steps=4)
    outcome = train(tmp_path, steps=8, hidden_dropout_prob=0.3)
    assert outcome.model.config.hidden_dropout_prob == 0.3


def test_a_run_without_a_whole_checkpoint_does_not_begin_anew(tmp_path):
    train(tmp_path, steps=4, keep=1)
    (tmp_path / "step-00000004" / "state.json").write_text("{}")
    for _ in range(2):
        with pytest.raises(TrainError, match=r"has no (whole checkpoint|checkpoint that is whole)"):
            train(tmp_path, steps=8)
    assert read_lines(tmp_path)[0]["kind"] == "start"


def test_without_pairs_there_is_no_order_to_learn(tmp_path):
    outcome = train(tmp_path, steps=4, pairs="none")
    assert outcome.after.sop_accuracy is None
    assert "sop.b" not in outcome.model.params
    assert all(line["sop_loss"] is None for line in read_lines(tmp_path) if line["kind"] == "train")


def test_more_steps_are_a_change_that_is_told(tmp_path):
    train(tmp_path, steps=4)
    outcome = train(tmp_path, steps=8)
    assert outcome.step == 8
    assert any(line["text"] == "steps is now 8, no longer 4" for line in events(tmp_path, "resumed"))


def test_a_finished_run_is_left_as_it_is(tmp_path):
    train(tmp_path, steps=4)
    before = (tmp_path / FILE).read_text()
    outcome = train(tmp_path, steps=4)
    assert outcome.step == 4
    assert (tmp_path / FILE).read_text().startswith(before)


def test_too_few_documents_to_hold_out_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"held_out_share is 0.001, which of 30 documents leaves none to test on"):
        train(tmp_path, held_out_share=0.001)


def test_a_full_disk_stops_no_training(tmp_path, monkeypatch, capsys):
    real, failing = checkpoint.save, []

    def save(run, config, state, *rest):
        if 8 <= state.step < 16:
            failing.append(state.step)
            raise TrainError("the disk is full")
        return real(run, config, state, *rest)

    monkeypatch.setattr(checkpoint, "save", save)
    outcome = loop.pretrain(small_settings(steps=20), tmp_path, corpus=small_corpus())
    assert failing == [8, 12]
    assert outcome.step == 20
    assert "the disk is full; training goes on" in capsys.readouterr().err


def test_a_last_save_that_fails_is_no_success(tmp_path, monkeypatch):
    def save(*_):
        raise TrainError("the disk is full")

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.raises(TrainError, match="the disk is full"):
        train(tmp_path, steps=2)


def test_a_run_that_could_never_save_has_nothing_to_go_back_to(tmp_path, poison, monkeypatch):
    poison("nan", *range(2, 10))
    monkeypatch.setattr(checkpoint, "steps", lambda run: [])
    with pytest.raises(TrainError, match="has no checkpoint to go back to"):
        train(tmp_path, steps=20)


def test_weights_of_another_model_can_be_trained_on(tmp_path):
    train(tmp_path / "first", steps=8)
    last = tmp_path / "first" / "step-00000008"
    train(tmp_path / "second", steps=4, weights=str(last))
    train(tmp_path / "third", steps=2, weights=str(tmp_path / "first"), hidden_dropout_prob=0.0)  # a run will do
    ended, begun = (
        [line["mlm_loss"] for line in read_lines(tmp_path / run) if line["kind"] == "eval"]
        for run in ("first", "second")
    )
    assert begun[0] == ended[-1]
    assert begun[0] != ended[0]


def test_weights_that_do_not_fit_are_named(tmp_path):
    config = small_settings().model.replace(vocab_size=small_corpus()[0].vocab_size)
    Albert.init(config.replace(intermediate_size=48)).save_pretrained(tmp_path / "other")
    with pytest.raises(TrainError, match=r"intermediate_size is 32; the weights in .* were made with 48"):
        train(tmp_path / "run", weights=str(tmp_path / "other"))
    Albert.init(config, heads=()).save_pretrained(tmp_path / "bare")
    with pytest.raises(TrainError, match="have neither an mlm nor a sop head"):
        train(tmp_path / "run", weights=str(tmp_path / "bare"))
