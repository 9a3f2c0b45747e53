"""A label for each word: files, which piece carries a label, and a run from files to predictions."""

import json

import numpy as np
import pytest
from small_task import SIZES, small_settings
from test_task import TOKENIZER

from minalbert import Albert, AlbertConfig
from minalbert.commands import main
from minalbert.errors import DataError, TaskDataError
from minalbert.tasks import finetune, open_finetuned, open_task
from minalbert.tasks.dev_test import DevTest
from minalbert.tasks.token_files import find_word_labels, read_labelled_words

FILE = "ada\tNAME\nfell\tVERB\n.\tSIGN\n\n\nshe\tWORD\nrested\tVERB\n.\tSIGN\n"
NAMES = ("NAME", "SIGN", "VERB", "WORD")


class Letters:
    """Each letter is a piece."""

    def encode_many(self, texts):
        return [[5 + ord(letter) - ord("a") for letter in text] for text in texts]


def written(tmp_path, text, name="train.conll"):
    (tmp_path / name).write_bytes(text.encode())
    return tmp_path / name


@pytest.mark.parametrize("text", [FILE, FILE.replace("\n", "\r\n"), "\ufeff" + FILE, "\n" + FILE + "\n\n"])
def test_a_file_is_read(tmp_path, text):
    path = written(tmp_path, text)
    assert find_word_labels(path) == NAMES
    assert [tuple(row) for row in read_labelled_words(path, NAMES)] == [
        ("0", ("ada", "fell", "."), (0, 2, 1)), ("1", ("she", "rested", "."), (3, 2, 1))]  # fmt: skip
    bare = written(tmp_path, "ada\nfell\n\nshe\n", "test.conll")
    assert [(row.words, row.labels) for row in read_labelled_words(bare, NAMES)] == [
        (("ada", "fell"), None), (("she",), None)]  # fmt: skip


def test_the_labels_of_words_are_counted(tmp_path):
    task = open_task("tokens", written(tmp_path, FILE).parent)
    assert task.label_counts(task.examples("train", TOKENIZER)) == {"NAME": 1, "SIGN": 2, "VERB": 2, "WORD": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "1: the file is empty; it must hold examples"),
     ("ada\tNAME\nfell\n", "2: there are 0 tabs; there must be one tab between word and label"),
     ("ada\tNAME\tx\n", "1: there are 2 tabs; there must be one tab between word and label"),
     ("ada\nfell\tVERB\n", "2: there are 1 tabs; there must be none, as in the lines before"),
     ("ada\tNAME\n\tVERB\n", "2: the word is empty; a line must have one, and an empty line ends a sentence"),
     ("ada\t \n", "1: the label is empty; a line must have one, and an empty line ends a sentence"),
     ("ada\tNOUN\n", "1: the label is 'NOUN'; it must be one of: NAME, SIGN, VERB, WORD")],
)  # fmt: skip
def test_a_wrong_line_is_one_sentence(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(TaskDataError) as error:
        read_labelled_words(path, NAMES)
    assert str(error.value) == f"{path}:{said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [("ada\nfell\n", "1: there is no tab; a file to train on must have a label after each word"),
     ("ada\tNAME\n", "1: there is only the label 'NAME'; there must be two or more")],
)  # fmt: skip
def test_a_file_to_train_on_has_labels(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(TaskDataError) as error:
        open_task("tokens", tmp_path)
    assert str(error.value) == f"{path}:{said}"
    with pytest.raises(DataError, match="task tokens has labels of its own, which are not named here; name the direct"):
        open_task("tokens")


def test_the_first_piece_of_a_word_carries_its_label(tmp_path):
    written(tmp_path, "abc\tNAME\nde\tVERB\n\na\tSIGN\nbcdefgh\tNAME\ni\tVERB\n")
    task = open_task("tokens", tmp_path, max_length=8, labels=NAMES)
    examples = task.examples("train", Letters())
    assert examples.report == (2, 2, 0, 1, 0)  # of the second sentence a word is cut
    inputs, labels = task.batch([examples[0], examples[1]])
    assert inputs.input_ids.tolist() == [[2, 5, 6, 7, 8, 9, 3, 0], [2, 5, 6, 7, 8, 9, 10, 3]]
    assert labels.tolist() == [[-1, 0, -1, -1, 2, -1, -1, -1], [-1, 1, 0, -1, -1, -1, -1, -1]]
    scores = [np.eye(4)[[0, 2]], np.eye(4)[[1, 3]]]
    predictions = task.predictions(scores, examples)
    assert task.written(predictions.found) == ["NAME VERB", "SIGN WORD _"]
    assert task.score(predictions, examples) == {"accuracy": pytest.approx(3 / 5)}
    assert task.losses(predictions, examples) == pytest.approx([0, 2 / 3])
    names, right, found = task.classes(predictions, examples)
    assert (names, right.tolist(), found.tolist()) == (NAMES, [0, 2, 1, 0], [0, 2, 1, 3])
    guessed = DevTest(task, examples).baselines
    assert guessed == (pytest.approx(2 / 5), 1.0)  # NAME, of five words; and two sentences are too few to tell more


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A run that learns which words come before "m"."""
    place, rng = tmp_path_factory.mktemp("tokens"), np.random.default_rng(0)
    words = np.array([word for word in TOKENIZER.pieces if word.isalpha()])[:60]
    for split, count in (("train", 96), ("dev", 24)):
        sentences = [[f"{word}\t{'yes' if word < 'm' else 'no'}" for word in rng.choice(words, rng.integers(3, 9))]
                     for _ in range(count)]  # fmt: skip
        written(place, "\n\n".join("\n".join(lines) for lines in sentences) + "\n", f"{split}.conll")
    Albert.init(AlbertConfig(**SIZES, vocab_size=TOKENIZER.vocab_size), seed=1).save_pretrained(
        place / "model", TOKENIZER
    )
    settings = small_settings(place, data=str(place), task="tokens", steps=60, rate=0.01, every=60, dropout=0.0,
                              batch=16, micro_batch=8, classifier_dropout=0.0)  # fmt: skip
    return place, finetune(settings, place / "run")


def test_it_learns_the_labels_of_words(tuned):
    place, result = tuned
    assert result.before.accuracy < 0.8
    assert result.after.accuracy == 1.0
    config = json.loads((open_finetuned(place / "run").directory / "config.json").read_text())
    assert config["architectures"] == ["AlbertForTokenClassification"]
    assert config["id2label"] == {"0": "no", "1": "yes"}


def test_commands_say_the_labels_of_words(tuned, tmp_path, capsys):
    place, _ = tuned
    assert main(["predict", str(place / "run"), str(place / "dev.conll"), "--out", str(tmp_path / "out.tsv")]) == 0
    task = open_task("tokens", place)
    right = [task.right(row) for row in task.read("dev")]
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines == ["index\tprediction", *(f"{i}\t{one}" for i, one in enumerate(right))]
    assert main(["eval", str(place / "run"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert found["scores"] == {"accuracy": 1.0}
    assert found["confusion"]["names"] == ["no", "yes"]
    assert main(["classify", str(place / "run"), "a text"]) == 2
    assert "task tokens has no labels of texts; minalbert predict is the command for it" in capsys.readouterr().err
