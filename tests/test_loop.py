"""Training goes on to the last bit where it was stopped, refuses what would spoil it, and says what happens."""

import numpy as np
import pytest
from small_run import StopAt, computed, events, small_corpus, small_settings, train

from minalbert import Albert
from minalbert.train import assemble, checkpoint, pretrain
from minalbert.train.log import read_lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody stopped."""
    run = tmp_path_factory.mktemp("whole") / "run"
    outcome = train(run)
    assert outcome.code == 0
    assert outcome.step == 60
    return run


def test_a_run_stopped_again_and_again_computes_the_same_bits(whole, tmp_path, monkeypatch):
    run, lives = tmp_path / "run", 0
    while True:
        monkeypatch.setattr(assemble, "StopSignals", lambda alert: StopAt(7))
        outcome = train(run)
        lives += 1
        if outcome.code == 0:
            break
        assert outcome.code == 75
    assert lives == 9
    assert computed(run) == computed(whole)
    assert len(events(run, "resumed")) >= lives - 1


@pytest.mark.parametrize("change", [{"workers": 1}, {"workers": 4}, {"recompute": True}, {"recompute": 2},
                                    {"log_every": 3, "keep": 5}])  # fmt: skip
def test_what_only_costs_time_or_room_changes_no_bit(whole, tmp_path, change):
    train(tmp_path, **change)
    assert computed(tmp_path) == computed(whole)


def test_a_run_is_what_its_seed_says(whole, tmp_path):
    train(tmp_path, seed=1)
    assert computed(tmp_path)["hash"] != computed(whole)["hash"]


def test_a_batch_in_slices_trains_as_one_batch(tmp_path):
    """4 x 4 sequences at a time, or all 16: equal but for the last bits. (Dropout's masks are a slice's own.)"""
    losses, still = [], {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    for name, size in (("slices", 4), ("one", 16)):
        train(tmp_path / name, micro_batch=size, dtype="float64", steps=5, log_every=1, **still)  # not an epoch's end
        losses.append([line["loss"] for line in read_lines(tmp_path / name) if line["kind"] == "train"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-9)


def test_a_run_on_the_device_is_a_run_on_the_cpu(tmp_path, device, monkeypatch):
    monkeypatch.setattr(
        "minalbert.parallel.slices.WORTH_A_PART", 10**9
    )  # one part, as on a GPU: the same dropout masks
    hosts = {}
    for name, place in (("host", "cpu"), ("there", device)):
        train(tmp_path / name, device=place, dtype="float64", kernels="plain", steps=8)
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


def test_a_run_goes_on_from_a_step_that_is_named(whole, tmp_path):
    run = tmp_path / "run"
    train(run, keep=100)
    pretrain(small_settings(keep=100), run, corpus=small_corpus(), from_step=20)
    assert computed(run) == computed(whole)
