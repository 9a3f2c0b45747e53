"""Every notebook runs, and what is committed is what it prints."""

import importlib.util
import json
import re
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


def outputs(notebook):
    """(cell, kinds of what it shows, its text but for that of pictures) of each cell of code."""
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            shown = [(output.get("data", {}), output.get("text", "")) for output in cell["outputs"]]
            kinds = [kind for data, _ in shown for kind in sorted(data)]
            plain = [text or data.get("text/plain", "") for data, text in shown if "image/png" not in data]
            yield number, kinds, "".join(map("".join, plain))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_is_committed_is_what_it_prints(path):
    """Words exactly; numbers to a part in fifty, for other machines add in another order."""
    pytest.importorskip("nbclient", reason="Jupyter is not installed (pip install 'minalbert[notebooks]')")
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = notebook_of(path.read_text(encoding="utf-8")).cells
    assert ["".join(cell["source"]) for cell in committed["cells"]] == [cell.source for cell in cells], "make notebooks"
    now = build().run(path)
    for (number, kinds, text), (_, kinds_now, text_now) in zip(outputs(committed), outputs(now), strict=True):
        assert kinds == kinds_now, f"cell {number}"
        assert NUMBER.sub("#", text) == NUMBER.sub("#", text_now), f"cell {number}"
        assert list(map(float, NUMBER.findall(text_now))) == pytest.approx(
            list(map(float, NUMBER.findall(text))), rel=0.02, abs=2e-3
        ), f"cell {number}"


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
