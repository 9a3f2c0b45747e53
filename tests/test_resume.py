"""What a run goes on with, and where it cannot begin or go on."""

import pytest
from small_run import events, small_corpus, small_settings, train

from minalbert import Albert
from minalbert.commands.progress import Progress
from minalbert.errors import ConfigError, TrainError
from minalbert.train import checkpoint, pretrain, run_directory
from minalbert.train.log import FILE, read_lines


def test_other_data_is_refused(tmp_path):
    train(tmp_path, steps=4)
    with pytest.raises(TrainError, match=r"the data is .* documents, .* resumes with that only"):
        pretrain(small_settings(steps=8), tmp_path, corpus=small_corpus(31))


def test_a_run_that_is_refused_keeps_its_settings(tmp_path):
    train(tmp_path, steps=4)
    before = (tmp_path / run_directory.CONFIG).read_text()
    with pytest.raises(TrainError, match="the data is"):
        pretrain(small_settings(steps=8), tmp_path, corpus=small_corpus(31))
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
    outcome = pretrain(small_settings(steps=20), tmp_path, corpus=small_corpus(), observer=Progress())
    assert failing == [8, 12]
    assert outcome.step == 20
    assert "the disk is full; training goes on" in capsys.readouterr().err


def test_a_last_save_that_fails_is_no_success(tmp_path, monkeypatch):
    def save(*_):
        raise TrainError("the disk is full")

    monkeypatch.setattr(checkpoint, "save", save)
    with pytest.raises(TrainError, match="the disk is full"):
        train(tmp_path, steps=2)


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
