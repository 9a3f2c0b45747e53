"""`open_task`: every task from its files to scores, by a model of random weights."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_glue import LABELLED, UNLABELLED
from test_squad_and_race import FIRST, SECOND, write
from thread_ranks import on_threads

from minalbert import Albert, AlbertConfig
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.tiny_worlds.tasks import TASKS, write_tasks
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError, InputError, MissingFileError
from minalbert.model.answer import answer_forward, start_forward
from minalbert.params import Params
from minalbert.tasks import metrics, open_task, predicting
from minalbert.tasks.decoding import FoundAnswer, beam_pairs, beam_starts, found_answer
from minalbert.tasks.glue import GLUE
from minalbert.tasks.gradient import loss_and_grads
from minalbert.tasks.objectives import HeadContext
from minalbert.tasks.predicting import together
from minalbert.tasks.task import Predictions

TOKENIZER = WordTokenizer(TinyWorlds().words())
SIZES = {"vocab_size": TOKENIZER.vocab_size, "embedding_size": 8, "hidden_size": 12, "num_hidden_layers": 2,
         "num_attention_heads": 3, "intermediate_size": 20, "max_position_embeddings": 64}  # fmt: skip
TABLES = ("topic", "order", "permutation", "before", "doer", "grammar")


def model_for(task, seed=0):
    objective = task.objective()
    model = Albert.init(AlbertConfig(**SIZES), seed, objective.heads, "float64", outputs=objective.outputs)
    model.params.flat[...] = np.random.default_rng(seed).normal(0, 0.3, model.params.flat.shape)
    return model


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    out = tmp_path_factory.mktemp("tasks")
    write_tasks(out, train=48, dev=36)
    return out


def opened(name, place, **settings):
    """A task of tiny worlds, by the format of its files."""
    return open_task("race" if name == "next" else "custom" if name in TABLES else "squad2", place / name,
                     max_length=64, **settings)  # fmt: skip


@pytest.mark.parametrize("name", ["topic", "next", "spans1"])
@pytest.mark.parametrize("count", [2, 5])
def test_ranks_share_a_dev_set_and_all_find_what_one_process_finds(worlds, monkeypatch, name, count):
    """Each sequence is read once by all of them together."""
    monkeypatch.setattr(predicting, "TOKENS", 200)
    task = opened(name, worlds)
    examples, model = task.examples("dev", TOKENIZER), model_for(task)
    alone, read, encode = task.predict(model, examples), [], Albert.encode

    def counting(self, input_ids, *given, **named):
        read.append(len(input_ids))
        return encode(self, input_ids, *given, **named)

    monkeypatch.setattr(Albert, "encode", counting)
    found = on_threads(count, lambda ranks: task.predict(model_for(task), examples, ranks))
    with np.printoptions(precision=17, threshold=10**6):
        assert [*map(repr, found)] == [repr(alone)] * count
    assert sum(read) == sum(len(item.sequences) for item in examples)
    assert len(read) > count


@pytest.mark.parametrize("name", GLUE)
def test_glue_from_files_to_scores(name, tmp_path):
    for split in GLUE[name].splits:
        write(tmp_path / f"{split}.tsv", UNLABELLED[name] if split.startswith("test") else LABELLED[name])
    task = open_task(name, tmp_path, 32)
    model, train = model_for(task), task.examples("train", TOKENIZER)
    inputs, labels = task.batch([train[i] for i in range(len(train))])
    assert np.isfinite(loss_and_grads(model, task.objective(), inputs, labels).loss)
    assert train.report == (len(train), len(train), 2 if name == "qqp" else 0, 0, 0)
    dev = task.examples(task.dev, TOKENIZER)
    predictions = task.predict(model, dev)
    right = np.array([row.label for row in dev.rows])
    expected = {metric: getattr(metrics, metric)(predictions.found, right) for metric in GLUE[name].metrics}
    assert str(task.score(predictions, dev)) == str(expected)  # which may be nan
    test = task.examples(next(split for split in task.splits if split.startswith("test")), TOKENIZER)
    assert len(task.predict(model, test).found) == UNLABELLED[name].count("\n") - 1
    with pytest.raises(DataError, match=rf"example 0 of task {name} has no label; training and scores need them"):
        task.score(predictions, test)


@pytest.mark.parametrize("name", GLUE)
def test_a_file_of_glue_is_read_by_its_name_or_in_the_form_of_a_test_file(name, tmp_path):
    task = open_task(name)
    split = task.dev
    whole = task.examples(write(tmp_path / f"{split}.tsv", LABELLED[name]), TOKENIZER)
    assert [row.label for row in whole.rows] == [row.label for row in open_task(name, tmp_path).read(split).examples]
    own = task.examples(write(tmp_path / "own.tsv", UNLABELLED[name]), TOKENIZER)
    assert {row.label for row in own.rows} == {None}
    if name != "cola":  # whose labelled files have no header
        header, *rows = UNLABELLED[name].splitlines()
        label = (task.columns.labels or ["3"])[-1]
        text = "\n".join([f"{header}\t{task.columns.label}", *(f"{row}\t{label}" for row in rows)])
        labelled = task.examples(write(tmp_path / "own.tsv", text), TOKENIZER)
        assert [row.texts for row in labelled.rows] == [row.texts for row in own.rows]
        assert {row.label for row in labelled.rows} == {len(task.columns.labels) - 1 if task.columns.labels else 3}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_of_tiny_worlds_open_by_their_format(name, worlds):
    task = opened(name, worlds)
    train, dev = task.examples("train", TOKENIZER), task.examples(task.dev, TOKENIZER)
    assert (train.report.rows, dev.report.rows) == (48, 36)
    assert train.report[2:] == dev.report[2:] == (0, 0, 0)
    model, items = model_for(task), [train[i] for i in range(8)]
    inputs, labels = task.batch(items)
    assert np.isfinite(loss_and_grads(model, task.objective(), inputs, labels).loss)
    predictions = task.predict(model, dev)
    assert tuple(scores := task.score(predictions, dev)) == task.metrics
    assert all(-1 <= scores[metric] <= 1 for metric in task.metrics[:4])
    facts = json.loads(json.dumps(task.facts))
    again = open_task(**facts)
    assert again.facts == task.facts
    file = Path(worlds, name, {"race": "dev", "custom": "dev.tsv", "squad2": "dev-v2.0.json"}[task.name])
    assert str(again.predict(model, again.examples(file, TOKENIZER))) == str(predictions)


def test_labels_of_a_task_of_ones_own_are_those_of_its_files(worlds):
    assert opened("order", worlds).columns.labels == ("in_order", "swapped")
    assert opened("before", worlds).columns.texts == ("sentence1", "sentence2")
    labels = ("swapped", "in_order")
    task = opened("order", worlds, labels=labels, texts=["sentence2"])
    assert task.columns.labels == labels
    first, other = (each.examples("dev", TOKENIZER) for each in (task, opened("order", worlds)))
    assert [row.label for row in first.rows] == [1 - row.label for row in other.rows]
    assert {len(row.texts) for row in first.rows} == {1}


def test_numbers_of_ones_own(tmp_path):
    rows = "sentence\tlabel\n" + "".join(f"{'ada saw it . ' * i}\t{i / 4}\n" for i in range(1, 9))
    for split in ("train", "dev"):
        write(tmp_path / f"{split}.tsv", rows)
    write(tmp_path / "test.tsv", "sentence\nada saw it .\n")
    task = open_task("custom", tmp_path, 64, kind="number", range=[0, 2])
    dev = task.examples("dev", TOKENIZER)
    predictions = task.predict(model_for(task), dev)
    assert predictions.found.shape == (8,)
    assert list(task.score(predictions, dev)) == ["pearson", "spearman"]
    assert open_task(**task.facts).facts == task.facts
    assert len(task.predict(model_for(task), task.examples("test", TOKENIZER)).found) == 1
    with pytest.raises(DataError, match="it must be a number from 0 to 1"):
        open_task("custom", tmp_path, kind="number", range=[0, 1]).examples("dev", TOKENIZER)


@pytest.mark.parametrize("name", ["before", "next"])
def test_predictions_are_those_of_padded_batches_in_order(name, worlds):
    task = opened(name, worlds)
    model, dev = model_for(task), task.examples("dev", TOKENIZER)
    inputs, _ = task.batch([*dev])
    assert len({*inputs.attention_mask.sum(axis=1)}) > 3
    expected = task.objective().scores(model.encode(*inputs)[1], HeadContext(model.params, model.config))
    predictions = task.predict(model, dev)
    np.testing.assert_allclose(predictions.scores, expected, atol=1e-12)
    np.testing.assert_array_equal(predictions.found, expected.argmax(axis=1))


def test_only_sequences_of_one_length_are_together(monkeypatch):
    assert [*together([3, 5, 3, 5, 9])] == [[4], [1, 3], [0, 2]]
    monkeypatch.setattr(predicting, "TOKENS", 10)
    assert [*together([5, 5, 5, 20, 20])] == [[3], [4], [0, 1], [2]]


class Knows:
    """A model whose hidden states are the scores of the right answers; its head leaves them as they are."""

    config = AlbertConfig(**SIZES)
    params = Params.from_arrays({"span.w": np.eye(2), "span.b": np.zeros(2)}, {"span.w": (2, 2), "span.b": (2,)},
                                "float64")  # fmt: skip

    def __init__(self, examples):
        self.spans = {tuple(item.sequences[0].input_ids): item.label.span for item in examples}

    def encode(self, input_ids, *others, positions):
        hidden = np.zeros((*input_ids.shape, 2))
        for row, ids in zip(hidden, input_ids, strict=True):
            start, end = self.spans[tuple(ids)]
            row[start, 0] = row[end, 1] = 10
        return hidden, None


def test_right_spans_are_right_answers(tmp_path):
    for split in ("train", "dev"):
        write(tmp_path / f"{split}-v1.1.json", FIRST)
    write(tmp_path / "test-v1.1.json", json.dumps(FIRST).replace('"answers"', '"others"'))
    words = WordTokenizer(sorted({word for paragraphs in FIRST["data"] for paragraph in paragraphs["paragraphs"]
                                  for word in paragraph["context"].split()}))  # fmt: skip
    task = open_task("squad1", tmp_path, max_length=64)
    dev, test = task.examples("dev", words), task.examples("test", words)
    predictions = task.predict(model := Knows(dev), dev)
    assert predictions.found == ["France.", "The Normans", "1981."]
    assert task.score(predictions, dev) == {"f1": 1, "exact": 1}
    assert task.predict(model, test).found == predictions.found
    with pytest.raises(DataError, match="example 56ddde6b of task squad1 has no label"):
        task.score(predictions, test)
    write(tmp_path / "dev-v1.1.json", json.dumps(FIRST).replace('"answers"', '"others"'))
    with pytest.raises(DataError, match="example 56ddde6b of task squad1 has no label"):
        task.examples("dev", words)
    with pytest.raises(DataError, match=r"question '5a8d7bf7' has no answer, and squad1 gives one to each; squad2 is"):
        task.examples(write(tmp_path / "second.json", SECOND), words)


def test_questions_that_may_have_no_answer_in_several_windows(worlds):
    task = opened("spans4", worlds, question_length=8, stride=5)
    task.max_length = 30
    model, dev = model_for(task), task.examples("dev", TOKENIZER)
    assert dev.report.rows == 36
    assert dev.report.sequences == len(dev) > 100
    inputs, labels = task.batch([*dev])
    hidden, barred = model.encode(*inputs)[0], labels.barred
    starts = beam_starts(start_forward(hidden, model.params, ~barred)[0])
    scores, _ = answer_forward(hidden, model.params, barred, starts)
    predictions = task.predict(model, dev)
    for row, text, answer in zip(dev.rows, *predictions, strict=True):
        own = [i for i, window in enumerate(dev) if window.id == row.id]
        pairs = [beam_pairs(scores.start[i], starts[i], scores.end[i]) for i in own]
        expected = found_answer(row, [dev[i] for i in own], pairs, scores.unanswerable[own])
        assert answer.text == expected.text
        assert answer.unanswerable == pytest.approx(expected.unanswerable, rel=1e-12)
        assert text == ("" if answer.unanswerable > 0 else answer.text)


def test_a_threshold_decides_which_questions_have_no_answer(tmp_path):
    path = write(tmp_path / "dev-v2.0.json", SECOND)
    words = WordTokenizer(["France."])
    answers = [FoundAnswer("5a8d7bf7", "Norman", [], 3.0), FoundAnswer("56ddde6b", "France", [], -1.0),
               FoundAnswer("56be85543", "1981", [], -2.0)]  # fmt: skip
    for threshold, exact in ((0, 1), (-2, 2 / 3), (4, 2 / 3)):
        task = open_task("squad2", threshold=threshold)
        texts = [task.text(answer) for answer in answers]
        found = task.score(Predictions(texts, answers), task.examples(path, words))
        assert found == {"best_f1": 1, "best_exact": 1, "f1": exact, "exact": exact, "threshold": -1}


WRONG = {
    "task": (("sst3",), {}, "there is no task 'sst3'; did you mean 'sst2'?"),
    "setting": (("squad1",), {"threshold": 1}, "task squad1 has no setting 'threshold'; there are: question_length, "
                "stride"),
    "length": (("sst2", None, 3), {}, "max_length is 3; it must be a whole number, at least 8"),
    "texts": (("custom",), {"texts": "sentence"}, "texts is 'sentence'; it must be a list of 1 to 2 different texts"),
    "labels": (("custom",), {"labels": ["a", "a"]}, "labels is ['a', 'a']; it must be a list of at least 2 different "
               "texts"),
    "range": (("custom",), {"range": [5, 0]}, "range is [5, 0]; it must be two numbers, the lower one first"),
    "choices": (("race",), {"choices": 11}, "choices is 11; it must be a whole number, from 2 to 10"),
    "stride": (("squad1",), {"stride": 0}, "stride is 0; it must be a whole number, at least 1"),
    "threshold": (("squad2",), {"threshold": "x"}, "threshold is 'x'; it must be a finite number"),
    "name": ((["sst2"],), {}, "name is ['sst2']; it must be a text"),
    "directory": (("sst2", "nowhere"), {}, "nowhere is not a directory; it must be the one in which the files of task "
                  "sst2 are"),
    "kind": (("custom",), {"kind": "class"}, "kind is 'class'; it must be one of: label, number"),
    "columns": (("custom",), {}, "task custom has columns and labels of its own, which are not named here; name the "
                "directory of its files, or a model that `minalbert finetune` trained for it"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_task_is_one_sentence(case):
    place, settings, sentence = WRONG[case]
    with pytest.raises(DataError) as error:
        open_task(*place, **settings)
    assert str(error.value) == sentence


def test_wrong_splits_columns_and_choices(worlds, tmp_path):
    with pytest.raises(DataError, match=r"race has no split 'valid'; there are: train, dev, test"):
        opened("next", worlds).examples("valid", TOKENIZER)
    with pytest.raises(DataError, match="task race was opened without its files; name their directory"):
        open_task("race").examples("dev", TOKENIZER)
    with pytest.raises(DataError, match="dev has 4 options a question; this task has choices=2"):
        opened("next", worlds, choices=2).examples("dev", TOKENIZER)
    with pytest.raises(MissingFileError, match=r"test-v2.0.json is missing; name the directory"):
        opened("spans1", worlds).examples("test", TOKENIZER)
    write(tmp_path / "train.tsv", "text\tverdict\nx\tyes\n")
    with pytest.raises(DataError, match=r"train.tsv has the columns text, verdict; name those of the texts"):
        open_task("custom", tmp_path)


def test_a_model_must_fit_the_task(worlds):
    order, topic, spans = (opened(name, worlds) for name in ("order", "topic", "spans1"))
    dev = order.examples("dev", TOKENIZER)
    with pytest.raises(InputError, match="the model has no pooler head, which task custom needs; fine-tune it first"):
        order.predict(model_for(spans), dev)
    with pytest.raises(InputError, match="the model's classifier has 16 outputs; task custom has 2"):
        order.predict(model_for(topic), dev)
    order.max_length = 65
    with pytest.raises(InputError, match="max_length is 65; the model reads at most 64 tokens"):
        order.predict(model_for(order), dev)
