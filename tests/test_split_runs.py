"""Runs of ranks that share a model: the run of one process, in any layout. The ranks are threads here."""

import functools
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
import small_task
from small_run import StopAt, computed, events, small_corpus, small_settings
from thread_ranks import on_threads

from minalbert import Albert
from minalbert.commands.progress import Progress
from minalbert.errors import ConfigError
from minalbert.parallel import ALONE
from minalbert.tasks import open_finetuned
from minalbert.train import assemble, checkpoint, pretrain

CHANGES = {"dtype": "float64", "workers": 1, "steps": 12, "evaluate_every": 6}
TASK = {"dtype": "float64", "workers": 1}
TROUBLE = {"spikes": "rollback", "spike_sigmas": 2.6, "spike_window": 8, "steps": 24, "every": 4}  # twice

NO_MULTIPLE = "model_ranks is 2; the number of ranks, which mpiexec -n gives, must be a multiple of it, and is "


@pytest.fixture(autouse=True)
def threads_without_warnings(monkeypatch):
    """The filters of warnings are the whole process's; ranks that are threads would each put back what they found."""
    monkeypatch.setattr(assemble, "without_numpy_warnings", nullcontext)


def train(run, ranks=1, model_ranks=1, **changes):
    """On so many ranks, of which each `model_ranks` share a model. Returns their results."""
    settings = small_settings(**CHANGES | {"model_ranks": model_ranks} | changes)
    return on_ranks(ranks, lambda each: train_on(each, run, settings))


def on_ranks(count, work):
    return on_threads(count, work) if count > 1 else [work(ALONE)]


def train_on(ranks, run, settings):
    return pretrain(settings, run, small_corpus(), observer=Progress(quiet=True), ranks=ranks)


def tune(run, place, ranks=1, model_ranks=1, **changes):
    """The same of a fine-tuning."""
    changes = TASK | {"model_ranks": model_ranks} | changes
    return on_ranks(ranks, lambda each: small_task.train(run, place, ranks=each, **changes))


def stopped_after(steps, train, *arguments, **changes):
    """Train, and stop after so many steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(steps))
        train(*arguments, **changes)


def vectors(run, step=None):
    """Weights and moments of a checkpoint, the newest if none is named."""
    _, state, _, _ = checkpoint.load(run, step)
    return [vector.flat for vector in (state.params, *state.moments)]


def assert_close(found, expected, limit=1e-10):
    for vector, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(vector, right, rtol=0, atol=limit * np.abs(right).max())


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "without_numpy_warnings", nullcontext)
        train(run)
    return run


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    run = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "without_numpy_warnings", nullcontext)
        train(run, 2, 2)
    return run


def test_two_ranks_that_share_a_model_make_the_steps_of_one(alone, shared):
    assert_close(vectors(shared), vectors(alone))
    for line, right in zip(computed(shared)["lines"], computed(alone)["lines"], strict=True):
        assert line.pop("trust_ratios", {}) == pytest.approx(right.pop("trust_ratios", {}))
        assert line == pytest.approx(right)


def test_more_rows_of_a_grid_change_no_bit(tmp_path, shared):
    """Two groups of two ranks share batches, and the ranks of a group a model."""
    train(tmp_path, 4, 2)
    assert computed(tmp_path) == computed(shared)


def test_a_run_that_was_stopped_has_the_bits_of_one_that_was_not(tmp_path, shared):
    stopped_after(5, train, tmp_path, 2, 2)
    assert vectors(tmp_path)[0].tobytes() != vectors(shared)[0].tobytes()
    train(tmp_path, 2, 2)
    assert computed(tmp_path) == computed(shared)


def test_a_run_resumes_in_any_layout(tmp_path, alone):
    """A checkpoint is the whole model, whoever has saved it."""
    for steps, ranks, model_ranks in ((3, 2, 2), (2, 1, 1), (3, 4, 2), (2, 2, 1)):
        stopped_after(steps, train, tmp_path, ranks, model_ranks)
    train(tmp_path, 2, 2)
    assert len(events(tmp_path, "resumed")) >= 4
    assert_close(vectors(tmp_path), vectors(alone))


def test_a_run_goes_back_to_a_checkpoint(tmp_path):
    for name, ranks in (("alone", 1), ("shared", 2)):
        train(tmp_path / name, ranks, ranks, **TROUBLE)
    alone, shared = (events(tmp_path / name, "rolled back") for name in ("alone", "shared"))
    assert [line["text"] for line in shared] == [line["text"] for line in alone]
    assert len(alone) == 2
    assert_close(vectors(tmp_path / "shared"), vectors(tmp_path / "alone"))


def test_the_first_bad_number_is_found_where_ranks_share_a_model(tmp_path, monkeypatch):
    """It is in the first batch's gradient of a word that rank 1 has."""
    step_of, well = assemble.step_of, []

    def poisoned(job, workers, state, own_code, ranks):
        step = step_of(job, workers, state, own_code, ranks)

        def gradient_of(*arguments):
            gradient = step.keywords["gradient_of"](*arguments)
            if ranks.model_group.rank == 1 and not well:
                well.append(True)
                gradient.grads["mlm.bias"][-1] = np.nan
            return gradient

        return functools.partial(step, gradient_of=gradient_of)

    monkeypatch.setattr(assemble, "step_of", poisoned)
    train(tmp_path, 2, 2, steps=2)
    (event,) = events(tmp_path, "not finite")
    assert event["text"].endswith("the first bad gradient is that of mlm.bias; no step was made")


def test_the_model_that_a_run_returns_is_whole(tmp_path):
    for result in train(tmp_path, 2, 2, steps=3):
        np.testing.assert_array_equal(result.model.params.flat, vectors(tmp_path)[0])


@pytest.mark.parametrize(("ranks", "changes", "sentence"), [
    (1, {"model_ranks": 2}, NO_MULTIPLE + "1"),
    (3, {"model_ranks": 2}, NO_MULTIPLE + "3"),
    (4, {"model_ranks": 2, "batch": 4}, "2 groups of 2 ranks cannot share the 1 micro-batches of a batch evenly "
                                        "(batch 4, micro_batch 4); it must be one of 1"),
    (2, {"model_ranks": 2, "workers": 2}, "workers is 2; with model_ranks 2 it must be 0 or 1"),
    (2, {"model_ranks": 2, "code": "own.py"}, "code is 'own.py'; with model_ranks 2 it must be none"),
    (2, {"model_ranks": 2, "kernels": "fused"}, "kernels is 'fused'; with model_ranks 2 it must be 'plain'"),
    (2, {"model_ranks": 2, "intermediate_size": 33},
     "model_ranks is 2; intermediate_size, which is 33, must be a multiple of it"),
])  # fmt: skip
def test_what_cannot_be_shared_is_refused_before_anything_starts(tmp_path, ranks, changes, sentence):
    def refused(ranks):
        with pytest.raises(ConfigError) as caught:
            train_on(ranks, tmp_path / "run", small_settings(**CHANGES | changes))
        return str(caught.value)

    assert on_ranks(ranks, refused) == [sentence] * ranks
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_task.small_place(tmp_path_factory.mktemp("place"))


@pytest.mark.parametrize(("files", "changes"), [
    ("before", {}), ("next", {}), ("spans1", {}), ("before", {"frozen": True, "dropout": 0.0}),
])  # fmt: skip
def test_a_fine_tuning_in_a_row_or_a_grid_is_that_of_one_process(tmp_path, place, files, changes):
    """A label, choices, an answer: weights, moments, log, and what the best checkpoint predicts."""
    for name, ranks, model_ranks in (("alone", 1, 1), ("row", 2, 2), ("grid", 4, 2)):
        tune(tmp_path / name, place, ranks, model_ranks, files=files, **changes)
    assert computed(tmp_path / "grid") == computed(tmp_path / "row")
    assert_close(vectors(tmp_path / "row"), vectors(tmp_path / "alone"))
    for line, right in zip(computed(tmp_path / "row")["lines"], computed(tmp_path / "alone")["lines"], strict=True):
        assert line == pytest.approx(right)
    assert predictions(tmp_path / "row", place / files) == predictions(tmp_path / "alone", place / files)


def predictions(run, data):
    """By the kernels of training: the threshold for no answer is the score of a question, which rounding moves."""
    tuned = open_finetuned(run, data, kernels="plain")
    found = tuned.task.predict(tuned.model, tuned.task.examples(tuned.task.dev, tuned.tokenizer))
    return tuned.task.written(found.found)


def test_a_fine_tuning_resumes_in_any_layout(tmp_path, place):
    tune(tmp_path / "alone", place)
    for steps, ranks, model_ranks in ((3, 2, 2), (2, 1, 1), (3, 4, 2), (2, 2, 1)):
        stopped_after(steps, tune, tmp_path / "run", place, ranks, model_ranks)
    with pytest.raises(ConfigError, match="model_ranks is 4; num_attention_heads, which is 2, must be a multiple"):
        tune(tmp_path / "run", place, 4, 4)
    tune(tmp_path / "run", place, 2, 2)
    assert len(events(tmp_path / "run", "resumed")) >= 4
    assert_close(vectors(tmp_path / "run"), vectors(tmp_path / "alone"))


@pytest.mark.parametrize(("ranks", "changes", "sentence"), [
    (1, {"model_ranks": 2}, NO_MULTIPLE + "1"),
    (4, {"model_ranks": 4}, "model_ranks is 4; num_attention_heads, which is 2, must be a multiple of it"),
    (4, {"model_ranks": 2, "micro_batch": 8}, "2 groups of 2 ranks cannot share the 1 micro-batches of a batch evenly "
                                              "(batch 8, micro_batch 8); it must be one of 1"),
    (2, {"model_ranks": 2, "workers": 2}, "workers is 2; with model_ranks 2 it must be 0 or 1"),
    (2, {"model_ranks": 2, "precision": "bf16"}, "kernels is 'fused'; with model_ranks 2 it must be 'plain'"),
    (2, {"model_ranks": 2, "weights": "reversible"},
     "model_ranks is 2; a model with reversible layers cannot be split: it must be 1"),
])  # fmt: skip
def test_a_fine_tuning_that_cannot_be_shared_is_refused_before_it_starts(tmp_path, place, ranks, changes, sentence):
    if "weights" in changes:
        changes = changes | {"weights": str(shutil.copytree(place / "model", tmp_path / "reversible"))}
        found = Albert.from_pretrained(place / "model")
        Albert(found.config.replace(reversible=True), found.params).save_pretrained(tmp_path / "reversible")

    def refused(ranks):
        with pytest.raises(ConfigError) as caught:
            small_task.train(tmp_path / "run", place, ranks=ranks, **TASK | changes)
        return str(caught.value)

    assert on_ranks(ranks, refused) == [sentence] * ranks
    assert not (tmp_path / "run").exists()
