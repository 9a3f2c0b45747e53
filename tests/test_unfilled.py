"""What NumPy's empty returns holds no number by chance while a student's functions run."""

import numpy as np
import pytest

from minalbert_course import files
from minalbert_course.catalogue import find
from minalbert_course.grade.fenced import Fenced
from minalbert_course.here import Here

FUNCTIONS = """
import numpy as np

def linear_forward(x, w, b):
    return np.empty(3), np.empty_like(x), np.empty((2, 2), np.float16), np.empty(2, np.int8), np.empty(2, dtype=bool)
"""
EMPTY = np.empty


@pytest.fixture(params=["here", "fenced"])
def host(request, tmp_path):
    path = tmp_path / "ex02_linear_embedding.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    if request.param == "here":
        yield Here(files.run(path)[0], path)
        return
    with Fenced(find("ex02"), path) as found:
        yield found


def test_it_holds_nan_and_the_largest_numbers(host):
    found, _ = host.call("linear_forward", (np.ones(4), 1, 2), {}, [])
    assert [(array.dtype.str, array.tolist()) for array in found[3:]] == [("|i1", [127] * 2), ("|b1", [True] * 2)]
    assert all(np.isnan(array).all() for array in found[:3])
    assert [array.shape for array in found[:3]] == [(3,), (4,), (2, 2)]
    assert np.empty is EMPTY
