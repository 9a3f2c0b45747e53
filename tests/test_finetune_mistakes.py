"""What a user can do wrong with fine-tuning: each is one sentence, which is true."""

import re
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_task import SIZES, small_place, small_settings
from test_facts import saved

from minalbert import Albert, AlbertConfig
from minalbert.commands import main
from minalbert.commands.answer import around
from minalbert.commands.finetune import result_lines
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import ConfigError, nearest
from minalbert.tasks import open_task
from minalbert.tasks.decoding import Candidate
from minalbert.tasks.dev_test import SAME, scores_class
from minalbert.tasks.finetuning import FineTuning, label_sentences
from minalbert.tasks.presets import defaults
from minalbert.tasks.settings import TaskSettings
from minalbert.train.loop import RunResult
from minalbert.train.trained import SHIPPED


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_place(tmp_path_factory.mktemp("place"))


@pytest.fixture
def refused(place, capsys, monkeypatch):
    """The sentence with which `minalbert WORDS` ends. It begins where the small task's files are."""
    monkeypatch.chdir(place)

    def sentence(*words):
        assert main([*map(str, words)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error.removeprefix(f"minalbert {words[0]}: ").rstrip("\n")

    return sentence


def given(**options):
    """The words of a fine-tuning on the task "before"."""
    options = {"task": "custom", "data": "before", "model": "model", "steps": 2} | options
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]


def test_the_kind_of_a_label_is_an_option(place, tmp_path, capsys):
    words = ["finetune", str(tmp_path / "run"), *map(str, given(kind="number", steps=1)), "--print-config"]
    assert main(words) == 0
    assert 'kind = "number"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"batch": 0}, "batch is 0; it must be a whole number, at least 1"),
     ({"steps": "many"}, "steps is 'many'; it must be a whole number"),
     ({"evaluate_every": 0}, "evaluate_every is 0; it must be"), ({"task": []}, "task is .*; it must be a text")],
)  # fmt: skip
def test_what_a_preset_computes_with_is_checked_before(place, changes, said):
    with pytest.raises(ConfigError, match=said):
        small_settings(place, **changes)


def table(directory, *rows):
    directory.mkdir()
    for split in ("train", "dev"):
        (directory / f"{split}.tsv").write_text("".join(f"{row}\n" for row in ("sentence\tlabel", *rows)))
    return directory


@pytest.mark.parametrize(
    ("rows", "said"),
    [(("a\t1", "b\t", "c\t0"), "3: column 'label' is empty; each example must have a label"),
     ((), "1: there are no rows; there must be at least one below the header"),
     (("a\tx",), "1: column 'label' has only the label 'x'; there must be two or more")],
)  # fmt: skip
def test_the_labels_of_a_table(refused, tmp_path, rows, said):
    data = table(tmp_path / "data", *rows)
    assert refused("finetune", tmp_path / "run", *given(data=data)) == f"{data / 'train.tsv'}:{said}"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [("sentence\tlabel\ra\t0\rb\t1\r", "1: its lines end with a carriage return alone; they must end with a line "
      "feed, alone or after one"),
     ("sentence,label\na,0\nb,1\n", "1: it is 'sentence,label', without a tab; tabs must stand between the columns, "
      "and neither commas nor semicolons")],
)  # fmt: skip
@pytest.mark.parametrize("texts", [{}, {"texts": "sentence"}])
def test_a_file_of_another_form(refused, tmp_path, content, said, texts):
    data = table(tmp_path / "data")
    (data / "train.tsv").write_bytes(content.encode())
    assert refused("finetune", tmp_path / "run", *given(data=data, **texts)) == f"{data / 'train.tsv'}:{said}"


def test_a_column_that_holds_no_labels(refused, tmp_path):
    data = table(tmp_path / "data", *(f"a\t{number}" for number in range(12)))
    assert refused("finetune", tmp_path / "run", *given(data=data)) == (
        f"{data / 'train.tsv'}:1: column 'label' has 12 labels in 12 rows, nearly all of them once; it must be a "
        "column whose labels recur, or one of numbers with --kind number")  # fmt: skip


def test_the_labels_are_counted_and_a_misspelt_one_is_named(place, tmp_path):
    data = table(tmp_path / "data", *["ada fell\tyes", "bo fell\tno"] * 9, "cy fell\tyess")
    said = [*FineTuning(small_settings(place, data=str(data))).sentences()]
    assert said[-2:] == ["labels: no 9, yes 9, yess 1", "labels that are there only once, and may be misspelt: 'yess'"]
    assert [*label_sentences(dict.fromkeys(map(str, range(14)), 2))] == [
        f"labels: {', '.join(f'{number} 2' for number in range(12))} and 2 more"]  # fmt: skip


def test_two_files_for_a_split(refused, tmp_path):
    data = table(tmp_path / "data", "a\t0", "b\t1")
    (data / "train.jsonl").write_text("{}\n")
    assert refused("finetune", tmp_path / "run", *given(data=data)) == (
        f"{data} has both train.jsonl and train.tsv; only one of them may be there")  # fmt: skip


def test_a_model_that_was_never_tuned(refused):
    assert refused("classify", "model", "a text", "--task", "custom") == (
        "task custom has columns and labels of its own, which are not named here; name the directory of its files, or "
        "a model that `minalbert finetune` trained for it")  # fmt: skip


def test_a_model_without_a_tokenizer(refused, place, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(place / "model", bare)
    for file in bare.glob("tokenizer.*"):
        file.unlink()
    said = refused("finetune", tmp_path / "run", *given(model=bare))
    assert said.startswith(f"{bare} has no tokenizer (")
    assert said.endswith("; put the right one there, or name it with --tokenizer where a command has this option")


def test_options_that_would_have_no_effect(refused, tmp_path):
    assert refused("finetune", tmp_path / "run", *given(rate=0.001, rates="0.01,0.02")) == (
        "rate is 0.001, and rates is '0.01,0.02'; give one of --rate and --rates")  # fmt: skip
    assert refused("finetune", tmp_path / "run", *given(range="0,5")) == (
        "range is 0 to 5, and kind is 'label', whose labels are names; a range is of kind 'number'")  # fmt: skip
    assert refused("finetune", tmp_path / "run", *given(kind="number", labels="0,1")) == (
        "labels is 0,1, and kind is 'number', which has no names; labels are of kind 'label'")  # fmt: skip


def test_tasks_do_not_replace_others(refused, tmp_path):
    words = ["data", "tasks", str(tmp_path), "--train", "6", "--dev", "4"]
    assert main(words) == main(words) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    first = tmp_path / "topic" / "train.tsv"
    assert f"{first} is there with other examples" in refused(*words, "--seed", "1")
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_only_scaled_settings_are_called_so(place):
    def said(**changes):
        return next(FineTuning(small_settings(place, **changes)).sentences())

    plain = "settings as of Table 14 where no others are given"
    assert said() == plain
    preset = defaults("custom", 60, 16, {"batch": 8})
    assert said(steps=preset["steps"]) == f"{plain}, with steps for as many examples as there are"
    assert said(rate=preset["rate"]) == f"{plain}, with 768/16 of the rate"


@pytest.mark.parametrize(
    ("hidden_size", "dropout", "rate", "preset"),
    [(768, 0.0, 1e-5, 0.0), (768, 0.1, 2e-5, 0.1), (16, 0.0, 9.6e-4, 0.1)],
)
def test_race_has_a_preset_for_version_2(place, tmp_path, hidden_size, dropout, rate, preset):
    tokenizer = WordTokenizer(TinyWorlds().words())
    config = AlbertConfig(**SIZES | {"hidden_size": hidden_size}, vocab_size=tokenizer.vocab_size,
                          hidden_dropout_prob=dropout)  # fmt: skip
    Albert.init(config, seed=1).save_pretrained(tmp_path / "model")
    tokenizer.save(tmp_path / "model" / tokenizer.file_name)
    settings = TaskSettings().change(task="race", data=str(place / "next"), weights=str(tmp_path / "model"))
    job = FineTuning(settings)
    assert (job.settings.peak_rate, job.settings.task.dropout) == (rate, preset)
    assert FineTuning(settings, tmp_path / "model", job.hashes).settings == job.settings
    assert next(job.sentences()).startswith("the settings for version 2 where no others") == (rate == 1e-5)


@pytest.mark.parametrize(
    ("given", "batch", "micro_batch"),
    [({}, 32, 16), ({"train_examples": 31}, 16, 8), ({"train_examples": 1}, 1, 1), ({"batch": 128}, 128, 32),
     ({"train_examples": 10, "micro_batch": 8}, 32, 8)],
)  # fmt: skip
def test_the_batch_fits_the_examples(place, given, batch, micro_batch):
    settings = TaskSettings().change(task="custom", data=str(place / "before"), weights=str(place / "model"), **given)
    job = FineTuning(settings)
    training = job.settings.training
    assert (training.batch, training.micro_batch) == (batch, micro_batch)
    assert ("for so few examples" in next(job.sentences())) == (batch < 32)


def test_too_large_a_batch_is_named_by_the_setting_that_was_given(refused, tmp_path):
    run = tmp_path / "run"
    assert refused("finetune", run, *given(train_examples=10, batch=11)) == (
        "batch is 11; it must be at most 10, as many as there are examples to train on")  # fmt: skip
    assert refused("finetune", run, *given(train_examples=10, batch=32, micro_batch=16)) == (
        "micro_batch is 16; it must be at most 10, as many as there are examples to train on")  # fmt: skip


def test_thirteen_names_are_all_shown():
    names = [f"{letter}" for letter in "abcdefghijklm"]
    assert nearest("nothing", names) == f"there are: {', '.join(names)}"
    assert nearest("nothing", [*names, "n"]).endswith("k, l and 2 more")


def test_the_text_to_answer_from(refused, place, tmp_path):
    model = saved(tmp_path / "squad1", open_task("squad1", max_length=64))
    words = ["answer", model, "who has the cup ?", "--text"]
    empty = tmp_path / "empty.txt"
    empty.write_text(" \n")
    assert refused(*words, empty) == f"{empty}:1: the file is empty; it must hold a text"
    assert refused(*words, tmp_path) == f"{tmp_path} is a directory where a file must be; name a file with --text"


def test_an_answer_is_shown_with_dots_where_text_is_left_out():
    context = " ".join(f"word{number}" for number in range(40))
    for first, past in ((0, 5), (100, 106), (len(context) - 6, len(context)), (0, len(context))):
        candidate = Candidate(context[first:past], 0.0, 1.0, (first, past), (0, 0, 0))
        shown = around(SimpleNamespace(context=context), candidate, 120)
        assert f"[{context[first:past]}]" in shown
        assert (shown[0] == "…", shown[-1] == "…") == (first > 0, past < len(context))


def test_the_readme_names_every_extra():
    root = Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (named,) = re.findall(r"^Extras: .*?\n\n", (root / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert {*re.findall("`(.*?)`", named)} == {*extras}


@pytest.mark.parametrize(("before", "said"), [(0.6, True), (0.5, False), (0.4, False)])
def test_a_score_that_was_higher_before_is_said(before, said):
    scores, guesses = scores_class(("accuracy", SAME)), scores_class(("guessing_accuracy",))
    best = {"step": 2, "scores": {"accuracy": 0.5}}
    result = RunResult(None, str(SHIPPED), 2, 0, scores(before, 0.7), scores(0.5, 0.7), guesses(0.5), 1.0, {}, best)
    line = "before the first step it was higher, 0.600: training brought nothing yet"
    assert any(each.startswith(line) for each in result_lines(result, "again")) == said
