"""Run every notebook and write it, with its outputs, beside its source: python notebooks/build.py [04 ...]

The .py is the source, which alone is edited; the .ipynb is what is read, on GitHub and in Jupyter.
"""

import sys
import tempfile
from pathlib import Path

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


if __name__ == "__main__":
    for path in sources(sys.argv[1:] or ("",)):
        path.with_suffix(".ipynb").write_text(notebook_text(run(path)), encoding="utf-8", newline="\n")
        print(f"wrote {path.with_suffix('.ipynb').name}")
