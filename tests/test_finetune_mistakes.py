"""What a user can do wrong with fine-tuning: each is one sentence, which is true."""

import pytest
from small_task import small_place, small_settings

from minalbert.commands import main
from minalbert.errors import ConfigError


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
