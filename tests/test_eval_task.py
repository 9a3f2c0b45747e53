"""`minalbert eval --data`, `classify` and `answer`: what they print, and what they refuse."""

import json
from collections import Counter

import numpy as np
import pytest
from small_task import small_place, train
from test_facts import saved
from test_predict import program  # noqa: F401  a fixture
from test_squad_and_race import FIRST, SECOND, write
from test_task import TOKENIZER, model_for

from minalbert.commands import answer, task_lines
from minalbert.commands.eval_task import title_of
from minalbert.data.tiny_worlds.tasks import write_tasks
from minalbert.plots import matrices, word_shares
from minalbert.tasks import open_task
from minalbert.tasks.answering import Answered
from minalbert.tasks.decoding import Candidate, FoundAnswer
from minalbert.tasks.mistakes import Confusion, Mistake, confusion, constant, guessing, mistakes
from minalbert.tasks.shares import WordShare
from minalbert.tasks.tables import TextExample
from minalbert.tasks.task import Predictions
from minalbert.train.log import read_lines

KINDS = {"topic": "custom", "before": "custom", "next": "race", "spans2": "squad2"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("eval")
    write_tasks(root / "worlds", train=48, dev=40)
    for name, kind in KINDS.items():
        saved(root / name, open_task(kind, root / "worlds" / name, max_length=64))
    return root


def scored(place, name):
    """(task, predictions, examples)"""
    task = open_task(KINDS[name], place / "worlds" / name, max_length=64)
    examples = task.examples(task.dev, TOKENIZER)
    return task, task.predict(model_for(task), examples), examples


@pytest.mark.parametrize("name", ["topic", "before", "next"])
def test_classes_and_errors(name, place):
    task, predictions, examples = scored(place, name)
    right = [task.right(row) for row in examples.rows]
    found = task.written(predictions.found)
    names, counts = confusion(task, predictions, examples)
    pairs = Counter(zip(right, found, strict=True))
    assert [[pairs[a, b] for b in names] for a in names] == counts.tolist()
    assert counts.sum() == 40
    assert np.trace(counts) / 40 == task.score(predictions, examples)["accuracy"]

    worst = mistakes(task, predictions, examples, most=100)
    assert len(worst) == 40 - np.trace(counts)
    scores = np.exp(predictions.scores) / np.exp(predictions.scores).sum(axis=1, keepdims=True)
    for each in worst:
        (i,) = (i for i, row in enumerate(examples.rows) if row.id == each.id)
        assert (each.right, each.found) == (right[i], found[i])
        assert each.loss == pytest.approx(-np.log(scores[i, names.index(right[i])]))
        assert each.probability == pytest.approx(scores[i].max())
        assert each.texts == task.asked(examples.rows[i])
    losses = [each.loss for each in worst]
    assert losses == sorted(losses, reverse=True)
    assert mistakes(task, predictions, examples, most=3) == worst[:3]

    label, guessed = guessing(task, examples)
    assert label == Counter(right).most_common()[0][0] or right.count(label) == max(Counter(right).values())
    assert guessed["accuracy"] == right.count(label) / 40


def test_errors_of_numbers_and_of_answers(tmp_path):
    task = open_task("stsb", max_length=32)
    rows = [TextExample(str(i), (f"text {i}",), label) for i, label in enumerate((1, 3, 5))]
    examples, found = type("Three", (), {"rows": rows}), Predictions(np.array([1.0, 5.5, 4.5]), None)
    assert mistakes(task, found, examples) == [
        Mistake("1", "3", "5", 2.5, None, ("text 1",)),
        Mistake("2", "5", "4.5", 0.5, None, ("text 2",)),
    ]
    assert confusion(task, found, examples) is guessing(task, examples) is None

    task = open_task("squad2", max_length=64)
    examples = task.examples(write(tmp_path / "dev.json", SECOND), TOKENIZER)
    answers = [
        FoundAnswer(row.id, text, [Candidate(text, 0.0, 0.25, (0, 1), (0, 1, 1))], none)
        for row, text, none in zip(examples.rows, ("Norman", "in France", "1982"), (-1.0, 2.0, -2.0), strict=True)
    ]
    found = Predictions([task.text(answer) for answer in answers], answers)
    sure = float(1 / (1 + np.exp(-2.0)))
    assert [each[:5] for each in mistakes(task, found, examples)] == [
        ("56ddde6b", "France", "", 1.0, pytest.approx(sure)), ("5a8d7bf7", "", "Norman", 1.0, 0.25),
        ("56be85543", "1981", "1982", 1.0, 0.25),
    ]  # fmt: skip
    names, counts = confusion(task, found, examples)
    assert (names, counts.tolist()) == (("answer", "none"), [[1, 1], [1, 0]])

    task = open_task("squad1", max_length=64)
    examples = task.examples(write(tmp_path / "first.json", FIRST), TOKENIZER)
    answers = [FoundAnswer(row.id, "France now", [], None) for row in examples.rows]
    found = Predictions([answer.text for answer in answers], answers)
    assert [each.loss for each in mistakes(task, found, examples)] == pytest.approx([1, 1, 1 / 3])
    assert confusion(task, found, examples) is None
    assert constant(task, found) == "France now"


def test_a_constant_output_is_named(place, program):  # noqa: F811
    code, out, _ = program("eval", place / "topic", "--data", place / "worlds" / "topic", "--json")
    found = json.loads(out)
    task, predictions, examples = scored(place, "topic")
    written = task.written(predictions.found)
    assert code == 0
    assert found["scores"] == task.score(predictions, examples)
    assert found["constant"] == (written[0] if len({*written}) == 1 else None)
    assert constant(task, Predictions(np.zeros(5, int), None)) == "bake"
    assert constant(task, Predictions(np.array([0, 0, 1]), None)) is None
    assert constant(task, Predictions(np.array([0]), None)) is None


@pytest.mark.parametrize("name", KINDS)
def test_the_report_of_a_task(name, place, program, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "80")
    data, file = place / "worlds" / name, tmp_path / "classes.svg"
    code, out, _ = program("eval", place / name, "--data", data, "--errors", 2, "--plot", file)
    task, predictions, examples = scored(place, name)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == f"{place / name}: 40 examples of dev, task {KINDS[name]}"
    for metric, value in task.score(predictions, examples).items():
        assert any(line.split()[:2] == [metric, f"{value:.4f}"] for line in lines)
    wrong = int((task.losses(predictions, examples) > 0).sum())
    assert f"errors, the worst 2 of {wrong}:" in lines
    (first, second) = mistakes(task, predictions, examples, 2)
    assert out.index(f"  {first.id}: ") < out.index(f"  {second.id}: ")
    assert max(len(line) for line in lines[2:] if not line.startswith("the model says")) <= 80
    assert file.read_bytes().startswith(b"<?xml")
    split = ("--split", "train", "--errors", 0)
    assert "48 examples of train" in program("eval", place / name, "--data", data, *split)[1]


def test_classes_in_letters():
    found = Confusion(("yes", "no"), np.array([[5, 0], [12, 3]]))
    assert [*task_lines.confusion(found, 80)] == [
        "right | found  yes   no",
        "yes              5    ·",
        "no              12    3",
    ]
    long = Confusion(("a very long name of a class", "another long name"), found.counts)
    assert [*task_lines.confusion(long, 40)] == [
        "right | found            1   2", "1 a very long name of    5   ·", "2 another long name     12   3",
    ]  # fmt: skip


def test_words_in_letters():
    words = [WordShare("[CLS]", 0.0, "special"), WordShare("no", -0.5, "A"), WordShare("fun", 2.0, "A")]
    assert [*task_lines.word_shares(words, "yes", 9, lambda text, kind: f"{text}/{kind}")] == [
        "[CLS]/quiet no/quiet", "fun/A", "       what it depends on: + for yes, - against it",
        "  fun   +2.0000  " + 24 * "█", "   no   -0.5000  " + 6 * "█", "[CLS]   +0.0000",
    ]  # fmt: skip


def test_figures_of_words_and_classes():
    words = [WordShare(f"word{i}", (-1) ** i * i, "A") for i in range(40)]
    drawn = word_shares(words, "yes rather than no")
    written = [text.get_text() for text in drawn.axes[0].texts]
    assert written[:41] == ["for yes rather than no", *(word.word for word in words)]
    assert written[-1] == "39 is the largest share; they sum to -20"
    colours = [patch.get_facecolor()[:3] for patch in drawn.axes[0].patches]
    assert len({*colours[:40]}) == 40
    assert colours[38] != colours[39]
    drawn = matrices([{"values": np.array([[5, 0], [12, 3]]), "rows": ("a", "b"), "columns": ("a", "b")}], digits=0)
    assert [text.get_text() for text in drawn.axes[0].texts][-4:] == ["5", "0", "12", "3"]


def test_a_text_and_a_question(place, program, tmp_path):  # noqa: F811
    file, text = tmp_path / "words.png", write(tmp_path / "text", "ada took the key .\n\nshe gave it to nina .")
    code, out, _ = program("classify", place / "before", "Ada kneaded it.", "she ate it", "--plot", file)
    assert code == 0
    assert "(a full stop was added, as each sentence of its training had one)" in out
    assert "[CLS] ada kneaded it . [SEP] she ate it . [SEP]" in out
    assert file.exists()
    found = json.loads(program("classify", place / "before", "ada kneaded it .", "she ate it .", "--json")[1])
    assert found["labels"][0][0] == found["found"]
    assert len(found["words"]) == 11
    code, out, _ = program("answer", place / "spans2", "someone took the key", "--text", text, "--top", 2)
    assert code == 0
    assert "the best answers in 1 window:" in out
    found = json.loads(program("answer", place / "spans2", "someone took it", "--text", text, "--top", 2, "--json")[1])
    assert len(found["answers"]) == 2
    assert found["context"] == "ada took the key . she gave it to nina ."


WRONG = {
    "three texts": (("classify", "before", "a", "b", "c"), "3 texts were given, of which a model reads one or two; put "
                    "each into quotes: minalbert classify runs/sst2 \"a masterpiece of boredom\""),
    "one text": (("classify", "before", "a"), "task custom is about two texts (sentence1, sentence2); 1 were given"),
    "kind": (("classify", "next", "a"), "task race has no labels of texts; minalbert predict is the command for it"),
    "no file": (("answer", "spans2", "who", "--text", "none"), "none is missing; name a file with --text"),
    "empty": (("answer", "spans2", "who", "--text", "empty"), "empty:1: the file is empty; it must hold a text"),
    "top": (("answer", "spans2", "who", "--text", "empty", "--top", "0"), "top is 0; it must be a whole number, at "
            "least 1"),
    "errors": (("eval", "topic", "--data", "worlds/topic", "--errors", "-1"), "errors is -1; it must be a whole "
               "number, at least 0"),
    "split": (("eval", "topic", "--data", "worlds/topic", "--split", "devs"), "custom has no split 'devs'; did you "
              "mean 'dev'?"),
    "test": (("eval", "topic", "--data", "worlds/topic", "--split", "test"), "worlds/topic has neither test.tsv nor "
             "test.jsonl; one of them must be there"),
    "no data": (("eval", "topic", "--split", "dev"), "--split is for a fine-tuned model, which is scored on a task's "
                "files; name their directory with --data"),
    "both": (("eval", "topic", "--data", "worlds/topic", "--corpus", "c"), "--corpus is for scores on documents; "
             "topic is scored on the task's files in worlds/topic"),
    "recipe": (("eval", "topic", "--data", "worlds/topic", "--max-length", "9"), "--max-length is for scores on "
               "documents; topic is scored on the task's files in worlds/topic"),
    "place": (("eval", "topic", "--data", "nowhere"), "nowhere is not a directory; it must be the one in which the "
              "files of task custom are"),
}  # fmt: skip


@pytest.mark.parametrize("text", ["felix", ""])
def test_answers_where_there_is_none_are_called_so(text):
    candidate = Candidate("felix", 0.0, 1.0, (0, 5), (0, 6, 6))
    words = [WordShare("felix", 1.0, "B")]
    found = Answered(text, [candidate], 0.2 if text else 0.9, 0.5, "felix ran .", 1, words, [])
    shown = [*answer.lines(found, found.answers, 100, lambda text, _: text)]
    only_if = ("", "") if text else (", if there were one", " (if there were an answer)")
    assert shown[0] == (text or "no answer")
    assert shown[2] == f"the best answers in 1 window{only_if[0]}:"
    assert f"       what it depends on: + for 'felix'{only_if[1]}, - against it" in shown
    assert answer.decides(found) == f"'felix'{only_if[1]}"


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_one_sentence(case, place, monkeypatch, program):  # noqa: F811
    words, sentence = WRONG[case]
    monkeypatch.chdir(place)
    write(place / "empty", "")
    assert program(*words) == (2, "", f"minalbert {words[0]}: {sentence}\n")


def test_a_run_of_finetune_knows_its_task_and_its_files(place, tmp_path, program):  # noqa: F811
    small_place(tmp_path)
    train(tmp_path / "run", tmp_path, "before", steps=4, dev_examples=0)
    code, out, _ = program("eval", tmp_path / "run", "--errors", 0)
    assert code == 0
    assert "40 examples of dev, task custom" in out
    (last,) = [line for line in read_lines(tmp_path / "run") if line["kind"] == "eval" and line["step"] == 4]
    assert [line.split()[1] for line in out.splitlines() if line.startswith("accuracy")] == [f"{last['accuracy']:.4f}"]
    assert json.loads(program("classify", tmp_path / "run", "ada saw it .", "she ate it .", "--json")[1])["labels"]
    data = ("--data", tmp_path / "order")
    code, _, error = program("eval", tmp_path / "run" / "step-00000004", *data)
    assert code == 2
    assert error.endswith("it must be one of: contradiction, entailment, neutral\n")


def test_a_figure_of_no_classes_is_refused_before_the_report(place, program, tmp_path):  # noqa: F811
    write(tmp_path / "dev-v1.1.json", FIRST)
    saved(tmp_path / "squad1", open_task("squad1", max_length=64))
    found = program("eval", tmp_path / "squad1", "--data", tmp_path, "--plot", tmp_path / "x.png")
    assert found == (2, "", "minalbert eval: task squad1 has no classes to draw; leave out --plot\n")
    assert not (tmp_path / "x.png").exists()


def test_a_picture_of_anybodys_task_has_the_name_of_its_directory(place):
    assert title_of(open_task("custom", place / "worlds" / "topic")) == "topic"
    assert title_of(open_task("sst2", place / "worlds" / "topic")) == "sst2"
