"""Names of students: kept apart, and harmless on a terminal, in a file's name, in a spreadsheet."""

import csv
import sys
import unicodedata

import pytest

from minalbert import commands
from minalbert_course.grade.names import LONGEST, Names, file_names, harmless


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("José", "José"),
        (unicodedata.normalize("NFD", "José"), "José"),
        ("ann\x1b[2J", "ann [2J"),
        ("an\u202en", "an n"),  # letters from right to left, from here on
        ("\ud800", "(no name)"),
        ("a\r\nb", "a b"),
        ("../../etc", "../../etc"),
    ],
)
def test_a_name_is_one_line_of_composed_letters(given, shown):
    assert Names()[given] == shown


def test_names_that_look_the_same_are_two():
    names = Names()
    given = ["José", unicodedata.normalize("NFD", "José"), "a\tb", "a b", "a\x01b", "x" * 900, "x" * 901]
    shown = [names[name] for name in given]
    assert len(set(shown)) == len(given)
    assert [names[name] for name in given] == shown
    assert shown[1] == r"José (Jose\u0301)"


def test_names_as_file_names_are_short_and_different_where_case_does_not_count():
    students = ["Ann", "ann", "ANN", "../x", "..\\x", "a" * 300, "a" * 301, "𠀀" * 60, "é", "CON", "."]
    names = file_names(students)
    assert names["Ann"] == "Ann"
    assert names["é"] == "é"
    assert len({name.casefold() for name in names.values()}) == len(students)
    for name in names.values():
        assert all(letter.isalnum() or letter in "_-" for letter in name)
        assert len(name.encode()) <= LONGEST + 9


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", " =", "＝", "\r", "\n"])
def test_a_cell_that_a_spreadsheet_would_run_is_text(sign):
    assert harmless(f"{sign}1+1") == f"'{sign}1+1"
    assert harmless(f"ann{sign}1") == f"ann{sign}1"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take the two names for one")
def test_two_folders_whose_names_look_the_same_are_two_students(tmp_path, capsys):
    for name in ("José", unicodedata.normalize("NFD", "José"), "ann;=1+1"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "ex05.py").write_text("syntax error")
    assert commands.main(["grade", str(tmp_path / "in")]) == 0
    text = (tmp_path / "in-grades" / "grades.csv").read_text(encoding="utf-8")
    students = [row[0] for row in csv.reader(text.splitlines())][1:]
    assert sorted(students) == ["José", r"José (Jos\xe9)", "ann;=1+1"]
    assert '"ann;=1+1"' in text  # in quotes: nor does a semicolon begin a cell, where that is what parts them
    assert len(list((tmp_path / "in-grades" / "feedback").iterdir())) == 3
