"""Run every notebook and write it, with its outputs, beside its source: python notebooks/build.py [04 ...]

The .py is the source, which alone is edited; the .ipynb is what is read, on GitHub and in Jupyter.
"""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from exercises.percent import executed, notebook_of, notebook_text  # noqa: E402


def sources(beginnings=("",)):
    return [path for path in sorted(HERE.glob("[0-9][0-9]_*.py")) if path.name.startswith(tuple(beginnings))]


def run(path):
    """The notebook of a source, executed in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        return executed(notebook_of(path.read_text(encoding="utf-8")), folder)


if __name__ == "__main__":
    for path in sources(sys.argv[1:] or ("",)):
        path.with_suffix(".ipynb").write_text(notebook_text(run(path)), encoding="utf-8", newline="\n")
        print(f"wrote {path.with_suffix('.ipynb').name}")
