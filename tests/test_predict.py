"""`minalbert predict`: what a leaderboard takes, all of it or nothing, and every mistake one sentence."""

import json
import os

import numpy as np
import pytest
from test_facts import saved
from test_glue import LABELLED, UNLABELLED
from test_squad_and_race import FIRST, SECOND, write
from test_task import TOKENIZER, model_for

from minalbert import commands, files
from minalbert.data.tiny_worlds.tasks import write_tasks
from minalbert.errors import DataError, FileError
from minalbert.files import write_together
from minalbert.tasks import open_task
from minalbert.tasks.glue import GLUE
from minalbert.tasks.leaderboards import files_of
from minalbert.tasks.task import Predictions

LABELS = {  # as the site of GLUE names them
    **dict.fromkeys(("cola", "sst2", "mrpc", "qqp", "wnli"), ("0", "1")),
    **dict.fromkeys(("qnli", "rte"), ("entailment", "not_entailment")),
    "mnli": ("contradiction", "entailment", "neutral"),
}


@pytest.fixture
def program(capsys):
    """Run a command: (exit code, standard output, standard error)."""

    def run(*argv):
        try:
            code = commands.main([*map(str, argv)])
        except SystemExit as stopped:
            code = stopped.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Models of random weights for tasks, and tasks of tiny worlds."""
    root = tmp_path_factory.mktemp("predict")
    write_tasks(root / "worlds", train=32, dev=20)
    for name in ("rte", "mnli", "squad1"):
        saved(root / name, open_task(name, max_length=64))
    saved(root / "squad2", open_task("squad2", max_length=64), {"threshold": 0.25})
    saved(root / "topic", open_task("custom", root / "worlds" / "topic", max_length=64))
    saved(root / "next", open_task("race", root / "worlds" / "next", max_length=64))
    for split in GLUE["rte"].splits:
        write(root / f"{split}.tsv", (UNLABELLED if split == "test" else LABELLED)["rte"])
    return root


@pytest.mark.parametrize("name", GLUE)
def test_files_for_glue(name, tmp_path):
    for split in GLUE[name].splits:
        write(tmp_path / f"{split}.tsv", UNLABELLED[name] if split.startswith("test") else LABELLED[name])
    task = open_task(name, tmp_path, 64)
    for split in (each for each in task.splits if each.startswith("test")):
        examples = task.examples(split, TOKENIZER)
        predictions = task.predict(model_for(task), examples)
        ((path, content),) = files_of(task, predictions, examples, tmp_path / "RTE.tsv").items()
        assert path == tmp_path / "RTE.tsv"
        header, *rows = content.decode().splitlines()
        assert header == "index\tprediction"
        assert [row.split("\t")[0] for row in rows] == [str(i) for i in range(UNLABELLED[name].count("\n") - 1)]
        found = [row.split("\t")[1] for row in rows]
        if name == "stsb":
            assert [*map(float, found)] == pytest.approx(predictions.found.clip(0, 5), rel=1e-5)
        else:
            assert {*found} <= {*LABELS[name]}
            assert found == [task.columns.labels[i] for i in predictions.scores.argmax(axis=1)]


def test_numbers_stay_in_their_range():
    task = open_task("stsb")
    assert task.written(np.array([-0.5, 2.125, 5.25])) == ["0", "2.125", "5"]


def test_answers_and_null_odds(place, tmp_path, program):
    file = write(tmp_path / "dev-v2.0.json", SECOND)
    code, out, _ = program("predict", place / "squad2", file, "--out", tmp_path / "answers.json")
    assert code == 0
    found, odds = (json.loads((tmp_path / name).read_text()) for name in ("answers.json", "answers.null_odds.json"))
    task = open_task("squad2", max_length=64, threshold=0.25)
    predictions = task.predict(model_for(task), task.examples(file, TOKENIZER))
    ids = ["5a8d7bf7", "56ddde6b", "56be85543"]
    assert found == dict(zip(ids, predictions.found, strict=True))
    assert odds == pytest.approx({answer.id: answer.unanswerable for answer in predictions.scores})
    assert f"no answer to {sum(not text for text in found.values())} of 3: scores above 0.250" in out

    first = write(tmp_path / "first.json", FIRST)
    assert program("predict", place / "squad1", first, "--out", tmp_path / "first")[0] == 0
    assert [*json.loads((tmp_path / "first").read_text())] == ["56ddde6b", "56ddde6c", "56be85543"]
    assert not [*tmp_path.glob("first.null*")]


def test_tables_of_ones_own_and_race(place, tmp_path, program):
    for name, labels in (("topic", open_task("custom", place / "worlds" / "topic").columns.labels), ("next", "ABCD")):
        out = tmp_path / f"{name}.tsv"
        code, text, _ = program("predict", place / name, place / "worlds" / name, "--split", "dev", "--out", out)
        assert code == 0
        assert text.startswith(f"20 predictions of task {'custom' if name == 'topic' else 'race'} in {out}")
        header, *rows = (row.split("\t") for row in out.read_text().splitlines())
        assert header == ["index", "prediction"]
        assert len({index for index, _ in rows}) == 20
        assert {label for _, label in rows} <= {*labels}


def test_predictions_of_a_directory_are_those_of_its_file(place, tmp_path, program):
    whole, file, found = tmp_path / "whole.tsv", tmp_path / "file.tsv", []
    assert program("predict", place / "rte", place, "--out", whole)[0] == 0
    code, out, _ = program("predict", place / "rte", place / "test.tsv", "--out", file, "--json")
    assert code == 0
    assert whole.read_bytes() == file.read_bytes()
    found = json.loads(out)
    assert found["files"] == [str(file)]
    assert found["read"]["rows"] == 1


SPLITS = "mnli has no split 'test'; there are: train, dev_matched, dev_mismatched, test_matched, test_mismatched"
WRONG = {
    "split": (("mnli", ".", "--split", "test"), SPLITS),
    "default split": (("mnli", "."), SPLITS),
    "split of a file": (("rte", "test.tsv", "--split", "dev"), "split is 'dev', and test.tsv is no directory; a file "
                        "is predicted as a whole"),
    "file": (("rte", "nothing.tsv"), "nothing.tsv is missing; name the directory or file that the task was unpacked "
             "to"),
    "its form": (("squad2", "test.tsv"), "test.tsv:1: it is not JSON (Expecting value, at character 1); it must be one "
                 "JSON object"),
    "columns": (("rte", "worlds/topic/dev.tsv"), "worlds/topic/dev.tsv:1: there is no column 'sentence1'; did you mean "
                "'sentence'?"),
    "model": (("worlds", "test.tsv"), "worlds holds neither a run nor a model: there is no step-... and no config.json "
              "in it"),
    "task": (("rte", "test.tsv", "--task", "mnli"), "the model's classifier has 2 outputs; task mnli has 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_one_sentence_and_write_nothing(case, place, monkeypatch, program):
    words, sentence = WRONG[case]
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    assert program("predict", *words, "--out", "new.tsv") == (2, "", f"minalbert predict: {sentence}\n")
    assert sorted(place.rglob("*")) == before


def test_places_for_predictions(place, tmp_path, program, monkeypatch):
    monkeypatch.chdir(place)
    rows = (place / "test.tsv").read_bytes()
    link = tmp_path / "link.tsv"
    os.link(place / "test.tsv", link)
    for out, sentence in (
        (link, f"{link} is what is to be predicted; name another file with --out"),
        (tmp_path, f"{tmp_path} could not be written: it is a directory where a file must be; remove it, or name "
                   "another file"),
        ("none/x.tsv", "none/x.tsv could not be written: none is no directory; make it, or name another file"),
    ):  # fmt: skip
        assert program("predict", "rte", "test.tsv", "--out", out) == (2, "", f"minalbert predict: {sentence}\n")
    assert (place / "test.tsv").read_bytes() == rows
    (tmp_path / "a.null_odds.json").mkdir()
    code, _, error = program("predict", "squad2", write(tmp_path / "q.json", SECOND), "--out", tmp_path / "a.json")
    assert code == 2
    assert "a.null_odds.json could not be written: it is a directory" in error
    assert not (tmp_path / "a.json").exists()


def test_files_take_their_names_together(tmp_path, monkeypatch):
    first, second = write(tmp_path / "first", "old"), tmp_path / "second"
    calls = iter((None, OSError(28, "No space left on device")))

    def full(handle):
        if (error := next(calls)) is not None:
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(files, "to_disk", full)
        with pytest.raises(FileError, match="second could not be written"):
            write_together({first: b"new", second: b"more"})
    assert [*tmp_path.iterdir()] == [first]
    assert first.read_text() == "old"
    write_together({first: b"new", second: b"more"})
    assert (first.read_text(), second.read_text()) == ("new", "more")


def test_a_label_that_no_table_can_hold(tmp_path):
    task = open_task("custom", texts=("text",), labels=("a\tb", "c"))
    examples = type("One", (), {"rows": [type("Row", (), {"id": "0"})]})
    with pytest.raises(DataError, match=r"'a\\tb' has a tab or a line's end in it"):
        files_of(task, Predictions(np.array([0]), None), examples, tmp_path / "x")


def test_a_damaged_model_writes_nothing(place, tmp_path, program):
    model = saved(tmp_path / "rte", open_task("rte", max_length=64))
    (model / "config.json").write_bytes((model / "config.json").read_bytes()[:-4])
    code, _, error = program("predict", model, place / "test.tsv", "--out", tmp_path / "new.tsv")
    assert (code, error.count("\n")) == (2, 1)
    assert "config.json is damaged" in error
    assert not (tmp_path / "new.tsv").exists()
