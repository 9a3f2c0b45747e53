"""Files whose text shows that their functions keep nothing, and those that might keep something."""

from pathlib import Path

import pytest

from minalbert_course.state.stateless import is_stateless

PLAIN = '''
import dataclasses
import math
from typing import NamedTuple

import numpy as np

SCALE, EPS = math.sqrt(2 / math.pi), np.float32(1e-12)
NAMES = ("gain", "bias")
HALF = SCALE / 2
TABLE = {"w": "weight", "b": "bias"}
PARTS = [f"{part}.{kind}" for part in ("query", "key") for kind in ("w", "b")]


class Moments(NamedTuple):
    first: np.ndarray
    second: np.ndarray = None


@dataclasses.dataclass(frozen=True)
class Cache:
    """What backward needs"""

    x: np.ndarray
    rate: float = 0.1

    @property
    def kept(self):
        return 1 - self.rate


class Running:
    start = 0

    def __init__(self, first):
        self.total = first

    def add(self, more):
        self.total += more


def helper(x, eps=EPS, *, names=NAMES):
    """Doc"""
    found = {name: [x] for name in names}
    found["gain"].append(np.where(x > 0, x, eps) * HALF)
    return found


def double_forward(x: np.ndarray) -> tuple:
    parts, names = [row for row in helper(x).values()], [TABLE[part.split(".")[1]] for part in PARTS]
    noise = np.random.default_rng((7, 3)).random(2) if isinstance(x, (np.ndarray, Cache)) else None
    running = Running(Cache(x).kept + sum(len(name) for name in names if name in TABLE.values()))
    running.add(np.sum(x, where=x > 0))
    scaled = lambda y, by=len(parts): by * y
    try:
        return scaled(sum(parts[0])), {"x": x, "shape": x.shape}
    except ValueError as error:
        raise TypeError(f"{error}") from error


if __name__ == "__main__":
    x = np.ones(3)
    try:
        losses = [double_forward(x)[0] for _ in range(3)]
        print(losses)
    except ValueError as error:
        print(error)

from minalbert_course import check

check("ex05_attention", globals())
'''


OTHERS = """
import json
import operator
import os
import sys

import numpy as np
import safetensors

from minalbert import AlbertConfig


def library(x):
    is_numpy = isinstance(x, (np.ndarray, np.generic)) or type(x) is np.ndarray or type(x).__module__ == "numpy"
    return "numpy" if is_numpy else "cupy"


def double(x):
    xp = sys.modules[library(x)] if "cupy" in sys.modules else np
    device = sys.modules.get("cupy")
    y, z = np.empty(3), np.empty_like(x)
    y[:], z[...] = 1, 2
    return xp.zeros(3) + operator.add(y, z) + (device is np)


def double_forward(x):
    with open(os.path.join(x, "config.json"), encoding="utf-8") as file, open(x, "rb") as other:
        found = json.load(file)
    with safetensors.safe_open(x, framework="np") as file:
        names = [name for name in AlbertConfig.__dataclass_fields__ if name in found]
    return names
"""


def programs():
    """Those of may_keep_something.txt, each below a line that begins with # and says what is kept."""
    text = (Path(__file__).parent / "may_keep_something.txt").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.strip().removeprefix("# ").split("\n\n# "))
    return [pytest.param(program, id=title) for title, _, program in parts]


def stateless(text, tmp_path, functions=("double", "double_forward", "library"), suffix=".py"):
    path = tmp_path / f"answer{suffix}"
    path.write_text(text, encoding="utf-8")
    return is_stateless(path, functions)


@pytest.mark.parametrize("text", [PLAIN, OTHERS])
def test_plain_functions_keep_nothing(text, tmp_path):
    assert stateless(text, tmp_path)


@pytest.mark.parametrize("program", programs())
def test_what_may_keep_something(program, tmp_path):
    assert not stateless(program, tmp_path)


def test_a_function_that_is_not_asked_may_be_bound_again(tmp_path):
    text = "import functools\ndef double(x):\n    return 2 * x\ntriple = functools.cache(double)"
    assert stateless(text, tmp_path, ["double"])
    assert not stateless(text, tmp_path, ["double", "triple"])
