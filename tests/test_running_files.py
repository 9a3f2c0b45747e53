"""How a student's file is read and run: its encoding, and what is left where a statement of it stops."""

import pytest

from minalbert_course import files
from minalbert_course.errors import CourseError


def run(tmp_path, text, name="ex99.py"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return files.run(path)


def test_what_follows_a_statement_that_stops_is_run(tmp_path):
    there, remark = run(tmp_path, "def a():\n    return 1\n\nassert a() == 2, 'a is 1'\n\ndef b():\n    return 2\n")
    assert (there["a"](), there["b"]()) == (1, 2)
    assert remark == "ex99.py stopped at line 4 of ex99.py: AssertionError: a is 1"


@pytest.mark.parametrize("middle", ["raise NotImplementedError", "import sys; sys.exit()", "1 / 0", "no_such_name"])
def test_however_it_stops(tmp_path, middle):
    there, remark = run(tmp_path, f"a = 1\n{middle}\nb = 2\n")
    assert (there["a"], there["b"]) == (1, 2)
    assert bool(remark) == (middle != "raise NotImplementedError")


def test_a_file_that_is_not_python_is_not_run_at_all(tmp_path):
    there, remark = run(tmp_path, "a = 1\ndef b(:\n")
    assert "a" not in there
    assert remark.startswith("ex99.py is not Python: line 2: ")


def test_annotations_of_the_future_hold_for_every_statement(tmp_path):
    there, remark = run(
        tmp_path, '"""text"""\nfrom __future__ import annotations\n\ndef a(x: nobody) -> nothing:\n    pass\n'
    )
    assert remark == ""
    assert there["a"].__annotations__ == {"x": "nobody", "return": "nothing"}


@pytest.mark.parametrize(
    "text",
    [
        "# coding: latin-1\na = 'Größe'\n".encode("latin-1"),
        "#!/usr/bin/env python\n# -*- coding: cp1252 -*-\r\na = 'Größe'\r\n".encode("cp1252"),
        "\ufeffa = 'Größe'\n".encode(),
        "a = 'Größe'\n".encode(),
    ],
)  # fmt: skip
def test_a_file_is_read_in_its_own_encoding(tmp_path, text):
    there, remark = run(tmp_path, text)
    assert (there["a"], remark) == ("Größe", "")


@pytest.mark.parametrize("text", ["a = 'Größe'\n".encode("latin-1"), b"# coding: no-such\na = 1\n", b"\xff\xfe\x00"])
def test_a_file_in_no_known_encoding_is_refused_in_a_sentence(tmp_path, text):
    with pytest.raises(CourseError, match=r"ex99\.py is not a text file in UTF-8, nor in what a first line"):
        run(tmp_path, text)


def test_half_a_notebook_is_none(tmp_path):
    with pytest.raises(CourseError, match=r"its JSON breaks at line 1, column 12; save it in Jupyter"):
        run(tmp_path, '{"cells": [', "ex99.ipynb")


def test_a_notebook_without_cells_is_none(tmp_path):
    with pytest.raises(CourseError, match=r"ex99\.ipynb is not a notebook: 'cells'"):
        run(tmp_path, "{}", "ex99.ipynb")
