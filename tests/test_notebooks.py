"""Every notebook runs, and what is committed is what it prints."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from exercises.percent import notebook_of

ROOT = Path(__file__).parent.parent / "notebooks"
SOURCES = sorted(ROOT.glob("[0-9][0-9]_*.py"))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def build():
    spec = importlib.util.spec_from_file_location("notebooks_build", ROOT / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a kernel that finds minalbert as a wheel brings it, and not this repository."""
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, which makes the wheel, is missing")
    folder = tmp_path_factory.mktemp("wheel")
    [wheel] = builders.WheelBuilder(str(ROOT.parent)).build(directory=str(folder), versions=["standard"])
    zipfile.ZipFile(wheel).extractall(folder / "site")
    environment = os.environ | {"PYTHONPATH": str(folder / "site")}
    where = [sys.executable, "-c", "import minalbert; print(minalbert.__file__)"]
    found = subprocess.run(where, env=environment, capture_output=True, text=True, cwd=folder, check=True).stdout
    assert found.startswith(str(folder))
    return environment


def outputs(notebook):
    """(cell, kinds of what it shows, its text but for that of pictures) of each cell of code."""
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            shown = [(output.get("data", {}), output.get("text", "")) for output in cell["outputs"]]
            kinds = [kind for data, _ in shown for kind in sorted(data)]
            plain = [text or data.get("text/plain", "") for data, text in shown if "image/png" not in data]
            yield number, kinds, "".join(map("".join, plain))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_is_committed_is_what_it_prints(path, installed):
    """Words exactly; numbers to a part in fifty, for other machines add in another order. A notebook that takes
    minutes is run with small sizes, and then only the kinds of what it shows are compared."""
    pytest.importorskip("nbclient", reason="Jupyter is not installed (pip install 'minalbert[notebooks]')")
    source = path.read_text(encoding="utf-8")
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = notebook_of(source).cells
    assert ["".join(cell["source"]) for cell in committed["cells"]] == [cell.source for cell in cells], "make notebooks"
    fast = "MINALBERT_FAST" in source
    now = build().run(path, installed | {"MINALBERT_FAST": "1"} if fast else installed)
    for (number, kinds, text), (_, kinds_now, text_now) in zip(outputs(committed), outputs(now), strict=True):
        assert kinds == kinds_now, f"cell {number}"
        if not fast:
            assert NUMBER.sub("#", text) == NUMBER.sub("#", text_now), f"cell {number}"
            assert list(map(float, NUMBER.findall(text_now))) == pytest.approx(
                list(map(float, NUMBER.findall(text))), rel=0.02, abs=2e-3
            ), f"cell {number}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_first_cell_installs_what_is_missing(path, monkeypatch):
    """And asks for nothing where minalbert is there."""
    cell = next(cell.source for cell in notebook_of(path.read_text(encoding="utf-8")).cells if cell.cell_type == "code")
    asked = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command))
    exec(cell, {})
    assert asked == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    exec(cell, {})
    assert asked == [[sys.executable, "-m", "pip", "install", "--quiet", "minalbert", "matplotlib"]]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_has_what_a_lesson_needs(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert "assert" in text, "a number in the text is asserted by a cell"
    assert not re.search(r"^[%!]", text, flags=re.MULTILINE)
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    shown = [output for cell in committed["cells"] for output in cell.get("outputs", ())]
    told = [output["metadata"]["image/png"]["alt"] for output in shown if "image/png" in output.get("data", {})]
    assert told, "at least one picture"
    assert all(len(text) > 20 for text in told), "each says what it shows"
