"""docs/api.md lists what is public: no name less, and no name that is not there."""

import re
from pathlib import Path

import pytest

import minalbert
from minalbert import errors
from minalbert.errors import MinalbertError

PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")


def row(name):
    """The names in backticks in the row of a room, or of an error."""
    (line,) = re.findall(rf"^\| `{name}` \|(.*)\|$", PAGE, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", line))


def section(title):
    (text,) = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return text


def public(module):
    """The names that a module offers: its __all__, or what its __init__ imports from its own files."""
    return set(getattr(module, "__all__", ())) or {
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith(f"{module.__name__}.")
    }  # fmt: skip


def test_every_name_of_the_package_is_listed():
    listed = {name for line in re.findall(r"^\|(.*?)\|", section("The model"), re.MULTILINE)
              for name in re.findall(r"`(\w+)`", line)}  # fmt: skip
    assert set(minalbert.__all__) <= listed


@pytest.mark.parametrize("room", ["train", "data", "tasks"])
def test_a_rooms_names_are_those_listed(room):
    module = getattr(minalbert, room)
    assert public(module) == row(room)
    for name in row(room):
        assert getattr(module, name) is not None


@pytest.mark.parametrize("room", ["plots", "gradcheck", "optim"])
def test_a_rooms_functions_are_those_listed(room):
    module = getattr(minalbert, room)
    assert public(module) - row(room) == set()
    assert {name for name in row(room) if not hasattr(module, name)} == set()


def test_every_error_is_listed():
    found = {name for name, value in vars(errors).items()
             if isinstance(value, type) and issubclass(value, MinalbertError)}  # fmt: skip
    assert found <= set(re.findall(r"`(\w+)`", section("Errors")))


def test_methods_of_the_model_are_listed():
    methods = {name for name in vars(minalbert.Albert) if not name.startswith("_")}
    assert methods <= set(re.findall(r"\b(\w+)\b", section("The model")))


def test_a_name_that_is_not_there_is_an_attribute_error():
    for module in (minalbert, minalbert.data, minalbert.train):
        with pytest.raises(AttributeError, match="has no attribute 'nobody'"):
            module.nobody  # noqa: B018
