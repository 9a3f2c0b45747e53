"""Ids beyond 16 bits: who is asked for them, and who is not."""

import pytest

from exercises.source import sources
from minalbert_course.grade.fenced import Fenced
from minalbert_course.here import Here
from minalbert_course.marking import mark
from minalbert_course.narrow import has_narrow_integers
from minalbert_course.yours import Yours

SOURCES = {source.lesson.name: source for source in sources()}


@pytest.mark.parametrize(("line", "narrow"), [
    ("ids = ids.astype(np.int16)", True), ("ids = np.array(ids, 'u2')", True), ("ids = np.ushort(ids)", True),
    ("ids = ids.astype(np.int64)", False), ("shorter = print16 = ids", False), ("", False),
])  # fmt: skip
def test_a_file_names_integers_of_16_bits(line, narrow, tmp_path):
    path = tmp_path / "ex02_linear_embedding.py"
    path.write_text(line, encoding="utf-8")
    assert has_narrow_integers(path) == narrow
    assert Yours(SOURCES["ex02"].lesson, Here({}, path)).has_narrow_integers == narrow


def test_what_has_no_file_names_none():
    assert not has_narrow_integers("")


def test_an_answer_that_would_need_a_table_squared_keeps_its_points(tmp_path):
    solution = SOURCES["ex02"].solution()
    right = "    np.add.at(dword, ids, dy)"
    assert solution.count(right) == 1
    path = tmp_path / "ex02_linear_embedding.py"
    unused = "\nLARGEST_OF_WHAT_IS_NOT_USED = np.int16(0)\n"
    one_hot = "    dword += np.einsum('btv,bte->ve', np.eye(word_shape[0])[ids], dy)"
    path.write_text(solution.replace(right, one_hot) + unused, encoding="utf-8")
    with Fenced(SOURCES["ex02"].lesson, path) as host:
        marks = mark(SOURCES["ex02"].lesson, host)
    assert marks.points == 10, marks.missed
