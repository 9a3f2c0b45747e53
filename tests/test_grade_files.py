"""Files that students hand in: what is run of them, and what is not."""

import importlib.util
import os

import exercise_files
import pytest
from submissions import LIMITS, RIGHT, written

from minalbert_course.catalogue import find
from minalbert_course.grade import keeper
from minalbert_course.grade.batch import graded
from minalbert_course.grade.submissions import found

LESSON = find("ex05")


def test_a_right_file_may_import_what_people_import(tmp_path):
    code = (
        "import ssl, sqlite3, bisect, decimal, zoneinfo\nfrom __future__ import annotations\n"
        "from dataclasses import dataclass\n@dataclass\nclass Cache:\n    y: float\n"
    )
    lines = [
        "from __future__ import annotations",
        code.replace("from __future__ import annotations\n", "import numpy as np\n"),
    ]
    if importlib.util.find_spec("matplotlib"):
        lines.append("import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.figure()\n")
    marks = graded(written(tmp_path, "imports", "\n".join(lines) + RIGHT), LESSON, "a secret", LIMITS).marks
    assert (marks.points, marks.remark) == (10, "")


def test_a_line_of_python_that_begins_with_a_percent_sign_stays(tmp_path):
    cells = [RIGHT, "x = (17\n    % 10)\n", "%time x\nimport math"]
    submission = written(tmp_path, "a", exercise_files.as_notebook(*cells), "ex05_attention.ipynb")
    marks = graded(submission, LESSON, "a secret", LIMITS).marks
    assert (marks.points, marks.remark) == (10, "")


def test_too_many_files_of_one_student(tmp_path):
    for number in range(8):
        (tmp_path / f"ann_{number}_ex05.py").write_text("")
        (tmp_path / "bob").mkdir(exist_ok=True)
        (tmp_path / "bob" / f"ex05_{number}.py").write_text("")
    known, unknown = found(tmp_path)
    assert sum(submission.student == "bob" for submission in known) == 5
    assert len(unknown) == 3


@pytest.mark.parametrize("suffix", ["link", "large"])
def test_what_is_not_even_run(tmp_path, suffix):
    submission = written(tmp_path, suffix, RIGHT)
    if suffix == "link":
        submission.path.rename(tmp_path / "elsewhere.py")
        try:
            submission.path.symlink_to(tmp_path / "elsewhere.py")
        except OSError as error:
            pytest.skip(f"links cannot be made here: {error}")
    else:
        submission.path.write_text("#" * (6 * 2**20))
    marks = graded(submission, LESSON).marks
    assert marks.points == 0
    assert {"link": "is a link", "large": "5 are allowed"}[suffix] in marks.remark


def test_a_notebook_whose_cell_stops_keeps_its_other_cells(tmp_path):
    text = exercise_files.as_notebook("%matplotlib inline", RIGHT, "1 / 0", "!ls", "x = (")
    submission = written(tmp_path, "a", text, "ex05_attention.ipynb")
    marks = graded(submission, LESSON, "a secret", LIMITS).marks
    assert marks.points == 10
    assert "ZeroDivisionError" in marks.remark


def test_removing_a_folder_changes_nothing_above_it(tmp_path):
    """Not even where the folder is gone already, which is when the system complains."""
    above, inside = tmp_path / "above", tmp_path / "above" / "folder" / "closed"
    inside.mkdir(parents=True)
    (inside / "file").write_text("")
    inside.chmod(0)
    above.chmod(0o1777 if os.name != "nt" else 0o777)
    before = above.stat().st_mode
    keeper.remove(str(above / "folder"))
    assert not (above / "folder").exists()
    keeper.remove(str(above / "folder"))
    assert above.stat().st_mode == before
