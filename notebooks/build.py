"""Run every notebook and write it, with its outputs, beside its source: python notebooks/build.py [04 ...]

The .py is the source, which alone is edited; the .ipynb is what is read, on GitHub and in Jupyter. With --text nothing
is run: the new text is written around the stored outputs, and a notebook whose code changed is refused.
"""

import sys
import tempfile
from pathlib import Path

import jupytext

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from exercises.percent import executed, notebook_of, notebook_text


def sources(beginnings=("",)):
    return [path for path in sorted(HERE.glob("[0-9][0-9]_*.py")) if path.name.startswith(tuple(beginnings))]


def run(path, environment=None):
    """The notebook of a source, executed in a temporary folder."""
    source = path.read_text(encoding="utf-8")
    seconds = 1800 if "MINALBERT_FAST" in source else 240          # for a cell
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return executed(notebook_of(source), folder, environment, seconds)


def retold(path):
    """The notebook of a source with the outputs that are stored, if its code is what it was when they were made."""
    notebook = notebook_of(path.read_text(encoding="utf-8"))
    stored = jupytext.read(path.with_suffix(".ipynb"))
    now, then = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, stored))
    if [cell.source for cell in now] != [cell.source for cell in then]:
        sys.exit(f"the code of {path.name} changed; without --text it is run")
    for cell, its in zip(now, then, strict=True):
        cell.outputs, cell.execution_count = its.outputs, its.execution_count
    return notebook


if __name__ == "__main__":
    make, beginnings = (retold, sys.argv[2:]) if sys.argv[1:2] == ["--text"] else (run, sys.argv[1:])
    for path in sources(beginnings or ("",)):
        path.with_suffix(".ipynb").write_text(notebook_text(make(path)), encoding="utf-8", newline="\n")
        print(f"wrote {path.with_suffix('.ipynb').name}")
