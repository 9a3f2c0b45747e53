"""The numbers from outside that exercises are checked with are what those libraries give today."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from exercises.outside import __main__ as outside
from minalbert_course.outside import numbers


def test_every_file_has_its_maker():
    kept = sorted(path.stem for path in outside.THERE.glob("ex*.json"))
    assert kept == outside.modules()
    assert len(kept) >= 8


@pytest.mark.parametrize("exercise", outside.modules())
def test_the_kept_numbers_are_made_again(exercise):
    made = json.loads(outside.made(exercise))
    kept = numbers(exercise)
    assert kept.keys() == made.keys() - {"from"}
    for name, array in kept.items():
        np.testing.assert_allclose(array, np.array(made[name]), rtol=1e-9, atol=1e-12, err_msg=name)
