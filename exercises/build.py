"""`make course`: what students, instructors and their systems get, all from exercises/source.

    python -m exercises.build student        minalbert/course/student: files and notebooks to start from, and hints
    python -m exercises.build all            and build/course: instructor's notebooks, executed; exports of three systems
"""

import argparse
import json
from pathlib import Path

import jupytext
from .source import HERE, sources

STUDENT = HERE.parent / "minalbert" / "course" / "student"


def notebook_text(percent):
    """A py:percent text as the JSON of a notebook, the same bytes every time."""
    notebook = jupytext.reads(percent, fmt="py:percent")
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return jupytext.writes(notebook, fmt="ipynb")


def student_files():
    """file name -> text"""
    files, hints = {}, {}
    for source in sources():
        text = source.student()
        files[f"{source.path.stem}.py"] = text
        files[f"{source.path.stem}.ipynb"] = notebook_text(text)
        hints[source.lesson.name] = source.hints()
    files["hints.json"] = json.dumps(hints, indent=1, ensure_ascii=False) + "\n"
    return files


def write(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        Path(folder / name).write_text(text, encoding="utf-8", newline="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("student", "all"))
    options = parser.parse_args()
    write(student_files(), STUDENT)
    print(f"wrote {STUDENT}")
    if options.what == "all":
        raise SystemExit("exports are not there yet")


if __name__ == "__main__":
    main()
