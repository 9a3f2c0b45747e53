"""Fine-tuning is a run like any other: resumed to the bit, the same for any number of workers, and it learns."""

import functools
import gc
import json
import shutil
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import small_run
from kill_faults import newest_whole
from small_run import StopAt, computed
from small_task import SIZES, small_place, small_settings, train

from minalbert import Albert, AlbertConfig
from minalbert.backend import DropoutKey
from minalbert.commands import main
from minalbert.commands.progress import Progress
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import ConfigError, TrainError
from minalbert.interop.unread import TASK
from minalbert.parallel import Workers
from minalbert.tasks import finetuning, open_task
from minalbert.tasks.dev_test import SAME
from minalbert.tasks.finetuning import finetune
from minalbert.tasks.gradient import TaskBatch, gradient_function, loss_and_grads
from minalbert.tasks.objectives import Answers, AnswerSpans, Choices, Labels, MaybeAnswers, Numbers, TokenLabels
from minalbert.train import assemble, checkpoint, loop, open_trained
from minalbert.train.log import read_lines

RNG = np.random.default_rng(7)
B, T = 16, 10
LENGTHS = RNG.integers(4, T + 1, B)
MASK = (np.arange(T) < LENGTHS[:, None]).astype(int)
INPUTS = RNG.integers(5, 60, (B, T)) * MASK, MASK, (np.arange(T) >= 3) * MASK
SPANS = np.stack([RNG.integers(0, 2, B), RNG.integers(2, 4, B)], axis=1)
ANSWERS = Answers(SPANS, MASK == 0, (SPANS[:, 0] == 0).astype(int))
OBJECTIVES = {
    "label": (Labels(3), RNG.integers(0, 3, B)), "number": (Numbers(), RNG.normal(size=B)),
    "choice": (Choices(4), RNG.integers(0, 4, B // 4)),
    "token": (TokenLabels(5), np.where(RNG.random((B, T)) < 0.6 * MASK, RNG.integers(0, 5, (B, T)), -1)),
    "span": (AnswerSpans(), ANSWERS), "answer": (MaybeAnswers(), ANSWERS),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_place(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def whole(place, tmp_path_factory):
    """What a run that nobody stops computes, for each task, by one worker."""
    runs = tmp_path_factory.mktemp("whole")

    @functools.cache
    def run_of(task):
        train(runs / task, place, task, workers=1)
        return computed(runs / task)

    return run_of


def model_for(objective, dtype="float64", **compute):
    config = AlbertConfig(**SIZES, vocab_size=60, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.1)
    return Albert.init(config, 3, objective.heads, dtype, outputs=objective.outputs, **compute)


def in_slices(labels, count):
    """The batch as TaskBatches, all of them as long as the longest example."""

    def cut(array, number):
        size = len(array) // count
        return array[number * size : (number + 1) * size]

    def of(number):
        if isinstance(labels, Answers):
            return Answers(*(cut(array, number) for array in labels))
        return cut(labels, number)

    return [TaskBatch(*(cut(array, number) for array in INPUTS), of(number)) for number in range(count)]


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_gradient_of_slices_is_that_of_the_batch(kind, kernels):
    objective, labels = OBJECTIVES[kind]
    model = model_for(objective, kernels=kernels)
    loss, grads = loss_and_grads(model, objective, INPUTS, labels)
    with Workers(model, 2) as workers:
        found = gradient_function(workers, objective)(in_slices(labels, 4), scale=3.0)
    assert float(found.losses.total) == pytest.approx(float(loss), rel=1e-12)
    assert found.losses.numbers() == {"loss": float(found.losses.total)}
    assert np.abs(found.grads.flat - 3 * grads.flat).max() < 1e-12


@pytest.mark.parametrize("kind", ["label", "token", "answer"])
def test_one_slice_with_dropout_is_the_batch(kind):
    (objective, labels), key = OBJECTIVES[kind], DropoutKey(5)
    model = model_for(objective)
    encoder = model.config.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = Albert(encoder, model.params)
    loss, grads = loss_and_grads(model, objective, INPUTS, labels, key, rate=0.3)
    with Workers(model, 1) as workers:
        found = gradient_function(workers, objective, rate=0.3)(in_slices(labels, 1), key)
    assert float(found.losses.total) == pytest.approx(float(loss), rel=1e-12)
    assert np.abs(found.grads.flat - grads.flat).max() < 1e-12


@pytest.mark.parametrize("recompute", [0, 1])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_any_number_of_workers_computes_the_same_bits(kind, recompute):
    objective, labels = OBJECTIVES[kind]
    found = []
    for count in (1, 2, 3):
        with Workers(model_for(objective, "float32"), count) as workers:
            gradient_of = gradient_function(workers, objective, rate=0.3, recompute=recompute)
            for step in (0, 1):
                gradient = gradient_of(in_slices(labels, 4), DropoutKey(5, step))
                found.append((count, step, gradient.grads.flat.tobytes()))
                workers.release(gradient.grads)
    bits = {step: {grads for _, at, grads in found if at == step} for step in (0, 1)}
    assert [len(bits[step]) for step in bits] == [1, 1]
    assert bits[0] != bits[1]


def test_the_weights_to_begin_with_are_not_kept_in_memory(place, tmp_path, monkeypatch):
    opened, alive = [], []

    def noted(path):
        trained = open_trained(path)
        opened.append(weakref.ref(trained.model))
        return trained

    def next_step(trainer):
        gc.collect()
        alive.append(opened[0]())
        return step_of(trainer)

    step_of = loop.Trainer.next_step
    monkeypatch.setattr(finetuning, "open_trained", noted)
    monkeypatch.setattr(loop.Trainer, "next_step", next_step)
    train(tmp_path / "run", place, steps=3)
    assert (len(opened), alive) == (1, [None] * 3)


@pytest.mark.parametrize("heads", [("mlm",), ("pooler",)])
def test_it_is_said_that_the_weights_have_no_pooler(place, tmp_path, heads):
    weights, observer, heard = shutil.copytree(place / "model", tmp_path / "model"), Progress(quiet=True), []
    Albert.from_pretrained(weights).with_heads(heads).save_pretrained(weights)
    observer.message = heard.append
    finetune(small_settings(place, weights=str(weights), steps=3), tmp_path / "run", observer=observer)
    sentence = f"the weights of {weights} have no pooler; it begins with fresh ones"
    assert (sentence in heard) == ("pooler" not in heads)


def test_each_slice_has_dropout_masks_of_its_own_in_encoder_and_head():
    """The same examples in both slices: with dropout of either alone, their losses differ."""
    objective, labels = Labels(3), np.zeros(B // 2, int)
    half = TaskBatch(*(array[: B // 2] for array in INPUTS), labels)
    for rate, dropout in ((0.5, 0.0), (0.0, 0.5)):
        model = model_for(objective)
        model = Albert(
            model.config.replace(hidden_dropout_prob=dropout, attention_probs_dropout_prob=0.0), model.params
        )
        with Workers(model, 1) as workers:
            gradient_of = gradient_function(workers, objective, rate)
            one, two, both = (gradient_of(batches, DropoutKey(5)).grads.flat.copy()
                              for batches in ([half], [half], [half, half]))  # fmt: skip
        assert (one == two).all()
        assert np.abs(one - both).max() > 1e-6


@pytest.mark.parametrize("task", ["before", "next", "spans1"])
def test_a_run_that_is_stopped_ends_with_the_same_bits(place, whole, tmp_path, monkeypatch, task):
    for looks in (2, 4):  # at steps 2 and 6
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, looks=looks: StopAt(looks))
            assert train(tmp_path / "run", place, task).code == 75
    assert train(tmp_path / "run", place, task).code == 0
    assert computed(tmp_path / "run") == whole(task)


FROZEN = {"frozen": True, "dropout": 0.0, "keep": 9}


def tensors_of(run, step):
    """(the weights, both moments) of a checkpoint, by name."""
    _, saved, _, _ = checkpoint.load(run, step)
    return saved.params, saved.moments


@pytest.mark.parametrize(("task", "heads"), [("before", ("pooler", "classifier")), ("spans1", ("answer",))])
def test_of_a_frozen_encoder_the_heads_alone_learn(place, tmp_path, monkeypatch, task, heads):
    train(tmp_path / "whole", place, task, workers=1, **FROZEN)
    for looks in (2, 4):
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, looks=looks: StopAt(looks))
            assert train(tmp_path / "run", place, task, **FROZEN).code == 75
    train(tmp_path / "run", place, task, **FROZEN)
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")
    (begun, _), (params, moments) = (tensors_of(tmp_path / "whole", step) for step in (0, 12))
    for name in params:
        learns = name.split(".")[0] in heads
        assert (params[name] != begun[name]).any() == learns, name
        assert all(moment[name].any() == learns for moment in moments), name
    given = Albert.from_pretrained(place / "model").params
    assert all((params[name] == given[name]).all() for name in params if name in given and "pooler" not in name)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_heads_gradient_is_the_same_above_a_frozen_encoder(kind):
    objective, labels = OBJECTIVES[kind]
    model, key = model_for(objective, kernels="fused"), DropoutKey(5)
    quiet = Albert(model.config.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), model.params)
    found = []
    for one, frozen in ((quiet, False), (model, True)):
        with Workers(one, 2) as workers:
            gradient_of = gradient_function(workers, objective, rate=0.3, frozen=frozen)
            found.append(gradient_of(in_slices(labels, 4), key))
    assert float(found[0].losses.total) == pytest.approx(float(found[1].losses.total), rel=1e-12)
    for name in model.params:
        learns = name.split(".")[0] in objective.heads
        expected = found[0].grads[name] * learns
        assert np.abs(found[1].grads[name] - expected).max() < 1e-12, name
        assert expected.any() == learns, name


def test_a_run_stays_frozen_or_not(place, tmp_path):
    train(tmp_path / "run", place, steps=4, **FROZEN)
    with pytest.raises(ConfigError, match=r"frozen is False; .* was begun with True, and resumes with that only"):
        train(tmp_path / "run", place, steps=8, **FROZEN | {"frozen": False})


def test_a_run_may_be_shortened_below_its_warm_up(place, tmp_path, monkeypatch, capsys):
    """The command complains of no setting that was not given: the warm-up is the usual share of the new steps."""
    words = ["finetune", str(tmp_path / "run"), "--task", "custom", "--data", str(place / "before"), "--model",
             str(place / "model"), "--steps", "50", "--json"]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(1))
        assert main(words) == 75
    assert main(["finetune", str(tmp_path / "run"), "--steps", "4", "--json"]) == 0
    assert main(["finetune", str(tmp_path / "run"), "--steps", "4", "--warmup", "5", "--json"]) == 2
    assert "warmup is 5; it must be at most the 4 steps" in capsys.readouterr().err


def test_a_resumed_run_needs_neither_its_model_nor_its_settings(place, whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(7))
        train(tmp_path / "run", place)
    (place / "model").rename(place / "elsewhere")
    try:
        assert main(["finetune", str(tmp_path / "run")]) == 0
    finally:
        (place / "elsewhere").rename(place / "model")
    assert computed(tmp_path / "run") == whole("before")


@pytest.mark.parametrize("task", ["before", "next", "spans1"])
def test_a_checkpoint_has_all_that_predictions_need(place, tmp_path, task):
    result = train(tmp_path / "run", place, task, dev_examples=0)
    trained = open_trained(tmp_path / "run")
    facts = json.loads((trained.directory / "config.json").read_text())[TASK]
    again = open_task(**facts, place=place / task)
    dev = again.examples("dev", trained.tokenizer)
    scores = again.score(again.predict(trained.model, dev), dev)
    expected = dict(result.best["scores"])
    del expected[SAME]
    if task == "spans1":  # of SQuAD 2.0: with the best step's threshold
        expected |= {"f1": expected["best_f1"], "exact": scores["exact"]}
        assert again.threshold == expected["threshold"] != 0
    assert scores == pytest.approx(expected)


def test_it_learns_what_a_word_says(tmp_path):
    """Texts of random words, labelled by whether one of them is there: from random weights to no mistake."""
    words = ["yes", *(f"word{i}" for i in range(20))]
    tokenizer, rng = WordTokenizer(words), np.random.default_rng(0)
    for split, count in (("train", 96), ("dev", 40)):
        rows = ["sentence\tlabel"]
        for number in range(count):
            text = list(rng.choice(words[1:], 6))
            text[rng.integers(6)] = "yes" if number % 2 else "word0"
            rows.append(f"{' '.join(text)}\t{number % 2}")
        (tmp_path / f"{split}.tsv").write_text("\n".join(rows) + "\n")
    config = AlbertConfig(**SIZES, vocab_size=tokenizer.vocab_size)
    Albert.init(config, seed=1).save_pretrained(tmp_path / "model")
    tokenizer.save(tmp_path / "model" / tokenizer.file_name)
    settings = small_settings(tmp_path, data=str(tmp_path), task="sst2", steps=90, rate=0.01, every=90, dropout=0.0,
                              batch=16, micro_batch=8)  # fmt: skip
    result = finetune(settings, tmp_path / "run")
    assert result.before.accuracy <= 0.7
    assert result.after.accuracy == 1.0
    assert result.baselines.guessing_accuracy == 0.5
    events = [line["event"] for line in read_lines(tmp_path / "run") if line["kind"] == "event"]
    assert "better than guessing" in events


def test_the_order_of_an_epoch_is_its_own_and_each_example_comes_once(place):
    from minalbert.tasks.finetuning import FineTuning

    job = FineTuning(small_settings(place, steps=30, batch=4, micro_batch=4))
    epochs = []
    batches = job.batches(0)
    for _ in range(3):
        epochs.append([tuple(map(tuple, next(batches)[0].input_ids)) for _ in range(15)])
    sets = [{tuple(np.trim_zeros(row)) for batch in epoch for row in batch} for epoch in epochs]
    assert sets[0] == sets[1] == sets[2]
    assert epochs[0] != epochs[1] != epochs[2]
    assert (next(job.batches(7))[0].input_ids == np.array(epochs[0][7])).all()


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"task": ""}, ConfigError, "no task is given; it must be a name, such as sst2: --task NAME"),
        ({"data": ""}, ConfigError, "no data is given; it must be a directory: --data DIR"),
        ({"weights": ""}, ConfigError, "no model is given; it must be a run, a checkpoint or a model: --model DIR"),
        ({"max_length": 65}, ConfigError, "max_length is 65; the model has positions for 64 tokens"),
        ({"micro_batch": 64, "batch": 64}, ConfigError, "micro_batch is 64; it must be at most 60"),
        ({"recompute": 3}, ConfigError, "recompute is 3; it must be from 0 to the 2 layers of .*model"),
        (
            {"frozen": True},
            ConfigError,
            "dropout is 0.1, and a frozen encoder has neither .*; give one of --dropout and",
        ),
        ({"range": "1"}, ConfigError, "range is '1'; it must be two numbers, such as 0,5"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_no_directory(place, tmp_path, changes, error, said):
    with pytest.raises(error, match=said):
        finetune(small_settings(place, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_data_and_other_settings_are_refused(place, tmp_path):
    train(tmp_path / "run", place, steps=4)
    shutil.copytree(place / "before", tmp_path / "data")
    lines = (tmp_path / "data" / "train.tsv").read_text().splitlines()
    (tmp_path / "data" / "train.tsv").write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(TrainError, match=r"the training data of .* is .* 59 examples; .* was trained with .* 60 examp"):
        train(tmp_path / "run", place, steps=8, data=str(tmp_path / "data"))
    text, label = lines[-1].rsplit("\t", 1)
    other = next(name for name in ("neutral", "contradiction") if name != label)
    (tmp_path / "data" / "train.tsv").write_text("\n".join([*lines[:-1], f"{text}\t{other}"]) + "\n")
    with pytest.raises(TrainError, match=r"the training data of .* is .* 60 examples; .* was trained with .* 60 examp"):
        train(tmp_path / "run", place, steps=8, data=str(tmp_path / "data"))
    with pytest.raises(TrainError, match=r"the training data of .*order is .*: name it with --data"):
        train(tmp_path / "run", place, "order", steps=8)
    with pytest.raises(ConfigError, match=r"dropout is 0.3; .* was begun with 0.1"):
        train(tmp_path / "run", place, steps=8, dropout=0.3)
    assert checkpoint.steps(tmp_path / "run")[-1] == 4


def test_a_run_of_another_command_is_refused(place, tmp_path, capsys):
    train(tmp_path / "tuned", place, steps=4)
    small_run.train(tmp_path / "pretrained", steps=1)
    for run, wrong, right in (("tuned", "pretrain", "finetune"), ("pretrained", "finetune", "pretrain")):
        assert main([wrong, str(tmp_path / run)]) == 2
        assert f"{run} is a run of `minalbert {right}`; name another directory\n" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="is a run of `minalbert pretrain`"):
        train(tmp_path / "pretrained", place)
    with pytest.raises(ConfigError, match="is a run of `minalbert finetune`"):
        small_run.train(tmp_path / "tuned")


def test_the_command_trains_and_prints_its_scores(place, tmp_path, capsys):
    words = ["finetune", str(tmp_path / "run"), "--task", "custom", "--data", str(place / "before"), "--model",
             str(place / "model"), "--steps", "4", "--json"]  # fmt: skip
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["step"] == 4
    assert set(found["after"]) == {"accuracy", "matthews", "same_answer"}
    kept = read_lines(tmp_path / "run")
    assert kept[0]["guessing_accuracy"] == pytest.approx(found["baselines"]["guessing_accuracy"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals")
def test_a_killed_run_ends_as_one_that_was_not(place, tmp_path):
    """SIGKILL at any time, SIGTERM at a step's end: the bits are those of a run that was left in peace."""
    changes = {"steps": 600, "evaluate_every": 200, "every": 20}
    train(tmp_path / "whole", place, **changes)
    command = [sys.executable, str(Path(__file__).parent / "small_task.py"), str(tmp_path / "run"), str(place)]
    command += [f"{name}={value}" for name, value in changes.items()]
    for signal_sent, step in ((signal.SIGKILL, 40), (signal.SIGKILL, 120), (signal.SIGTERM, 200), (None, None)):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begun\n"
        if signal_sent:
            while child.poll() is None and newest_whole(tmp_path / "run") < step:
                time.sleep(0.01)
            child.send_signal(signal_sent)
        _, said = child.communicate(timeout=120)
        expected = {None: (0,), signal.SIGKILL: (-9,), signal.SIGTERM: (75,)}[signal_sent]
        assert child.returncode in expected, said
    assert computed(tmp_path / "run") == computed(tmp_path / "whole")
