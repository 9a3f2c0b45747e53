"""nbgrader itself releases, marks, and reports an exercise: a perfect, an empty, a broken and a half-right notebook."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exercises import exports
from exercises.percent import notebook_of
from exercises.source import sources

pytest.importorskip("nbgrader", reason="nbgrader is not installed (pip install nbgrader)")

NAME = "ex05_attention.ipynb"
(SOURCE,) = (source for source in sources() if source.lesson.name == "ex05")


def nbgrader(course, *argv):
    command = [sys.executable, "-m", "nbgrader", *argv]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # it calls alembic by name
    own = {"PATH": path, "HOME": str(course), "MINALBERT_TERM": "a secret of this test"}
    result = subprocess.run(command, cwd=course, env=os.environ | own, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    return result


def answered(released, solution):
    """A released notebook with other text in some cells: {a line of the cell: its new text}"""
    notebook = json.loads(released)
    for cell in notebook["cells"]:
        for line, text in solution.items():
            if cell["cell_type"] == "code" and line in "".join(cell["source"]):
                cell["source"] = text
    return json.dumps(notebook)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Released, handed in by four, marked."""
    course = tmp_path_factory.mktemp("nbgrader")
    exports.nbgrader(course, "public")
    nbgrader(course, "generate_assignment", "ex05", "--create")
    released = (course / "release" / "ex05" / NAME).read_text(encoding="utf-8")
    notebook = notebook_of(SOURCE.solution())
    cells = {line: cell.source for cell in notebook.cells for line in ("def softmax_forward", "def attention_forward")
             if line in cell.source}  # fmt: skip
    handed_in = {
        "perfect": cells,
        "empty": {},
        "broken": {**cells, "def softmax_forward": cells["def softmax_forward"].replace("return", "retrun", 1)},
        "half": {"def softmax_forward": cells["def softmax_forward"]},
    }
    for student, answers in handed_in.items():
        path = course / "submitted" / student / "ex05" / NAME
        path.parent.mkdir(parents=True)
        path.write_text(answered(released, answers), encoding="utf-8")
    nbgrader(course, "autograde", "ex05", "--create")
    nbgrader(course, "generate_feedback", "ex05")
    nbgrader(course, "export")
    return course


def test_what_is_released_holds_no_answer(course):
    text = (course / "release" / "ex05" / NAME).read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in text
    assert "HINT" not in text
    assert "raise NotImplementedError" in text
    assert "probs.swapaxes" not in text


def test_points_are_given_in_parts(course):
    rows = {row["student_id"]: row for row in csv.DictReader((course / "grades.csv").read_text().splitlines())}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "perfect": 10.0, "empty": 0.0, "broken": 0.0, "half": 3.0,
    }  # fmt: skip
    assert all(float(row["max_score"]) == 13.0 for row in rows.values())  # three for the question, by a person


def test_feedback_says_why(course):
    page = (course / "feedback" / "half" / "ex05" / NAME.replace("ipynb", "html")).read_text(encoding="utf-8")
    assert "attention_forward is not written yet" in page
    assert "[1.5/1.5] softmax dx" in page
    assert "a secret of this test" not in page
    assert not (Path(course) / "feedback" / "half" / "ex05" / "term.txt").exists()
