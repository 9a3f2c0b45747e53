"""Files whose text shows that their functions keep nothing, and those that might keep something."""

import pytest

from minalbert_course.stateless import is_stateless

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
KEEPS = """
# a global dict
memo = {}
def double(x):
    return memo.setdefault(len(x), 2 * x)

# a global array
import numpy as np
kept = np.zeros(3)
def double(x):
    kept[:] = x
    return 2 * kept

# a global list in a tuple
KEPT = ([], 1)
def double(x):
    KEPT[0].append(x)

# an array in an expression of numbers
import numpy as np
A = (1, 2) * np.float64(2)
def double(x):
    A[0] = x

# global
n = 0
def double(x):
    global n
    n += 1
    return 2 * x

# a name that a loop binds
for memo in [{}]:
    pass
def double(x):
    return memo.get(1, x)

# a name that is bound twice
memo = 1
memo = list()
def double(x):
    return memo.append(x)

# an error that is kept
try:
    1 / 0
except ZeroDivisionError as kept:
    pass
def double(x):
    return kept

# a default
def double(x, memo={}):
    return memo.setdefault(len(x), 2 * x)

# a default by name
def double(x, *, memo=[]):
    memo.append(x)
    return 2 * memo[0]

# a default of a lambda
double = lambda x, memo=[]: memo.append(x) or 2 * memo[0]

# an attribute of a function
def double(x):
    double.memo = x
    return 2 * double.memo

# an attribute of a module
import numpy as np
def double(x):
    np.memo = x
    return 2 * np.memo

# a module under another name
import numpy as np
def double(x):
    xp = np
    xp.seterr(all="raise")
    return 2 * x

# a dict of a class
class Kept:
    memo = {}
def double(x):
    return Kept().memo.setdefault(len(x), 2 * x)

# a number of a class
class Kept:
    n = 0
def double(x):
    return Kept.n * x

# an attribute of any object
def double(x, kept):
    kept.memo = x
    return 2 * x

# a method's default
class Kept:
    def double(self, x, memo=[]):
        return memo.append(x)
def double(x):
    return Kept().double(x)

# a class made by another
class Kept(metaclass=print):
    pass
def double(x):
    return 2 * x

# a table that is written into
TABLE = {1: 2}
def double(x):
    TABLE[1] = x
    return 2 * x

# a table under another name
TABLE = [1, 2]
def double(x):
    kept = TABLE
    kept.append(x)
    return 2 * x

# a table that is handed on
TABLE = {1, 2}
def helper(table, x):
    table.add(x)
def double(x):
    helper(TABLE, x)
    return 2 * x

# a method that changes a table
TABLE = {1: 2}
def double(x):
    return TABLE.setdefault(x, 2 * x)

# a table of lists
TABLE = {1: []}
def double(x):
    TABLE[1].append(x)
    return 2 * x

# a table as a default
TABLE = [1]
def double(x, kept=TABLE):
    return kept.append(x)

# Python's settings
import sys
def double(x):
    return x * sys.getrecursionlimit()

# a file
from pathlib import Path
def double(x):
    Path("memo").write_text(str(x))
    return 2 * x

# NumPy's generator under another name
import numpy as np
def double(x):
    kept = np.random
    return kept.rand() * x

# a decorator
import functools
@functools.cache
def double(x):
    return [x]

# a function made by another
def make():
    memo = {}
    def double(x):
        return memo.setdefault(1, x)
    return double
double = make()

# a function bound again
def double(x):
    return 2 * x
import functools
double = functools.cache(double)

# a generator
numbers = iter(range(9))
def double(x):
    return x * next(numbers)

# memory as it was
import numpy as np
def double(x):
    y = np.empty(x.shape)
    return y

# memory as it was, in an array by its class
import numpy as np
def double(x):
    return np.ndarray(x.shape)

# a function of NumPy's settings
from numpy import seterr
def double(x):
    seterr(all="raise")
    return 2 * x

# where, without out
import numpy as np
def double(x):
    return np.multiply(2, x, where=x > 0)

# NumPy's own state
import numpy as np
def double(x):
    return x + np.random.rand()

# NumPy's settings
import numpy as np
def double(x):
    np.seterr(all='raise')
    return 2 * x

# another module
import time
def double(x):
    return 2 * x + time.time()

# all of a module
from math import *
def double(x):
    return 2 * x

# a module's own dict
from minalbert.layers import NAMES
def double(x):
    return NAMES.setdefault(1, x)

# vars
def double(x):
    return vars(double).setdefault('memo', x)

# globals
def double(x):
    return globals().setdefault('memo', x)

# globals, handed to an own check
def check(name, names):
    names['memo'] = {}
check('ex05', globals())
def double(x):
    return 2 * x

# what else is handed to check
from minalbert_course import check
check('ex05', print())
def double(x):
    return 2 * x

# what is done beside check
import numpy as np
from minalbert_course import check
check("ex05", globals()) or np.seterr(all="raise")
def double(x):
    return 2 * x

# check as a memo
check = {}
def double(x):
    return check.setdefault(1, x)

# a name like a comprehension's
memo = list()
def listcomp(x):
    return memo.append(x)
def double(x):
    return listcomp(x)

# a frame
def double(x):
    return (y for y in x).gi_frame.f_globals

# __dict__
def double(x):
    return double.__dict__.setdefault('memo', x)

# files
def double(x):
    open('memo', 'w').write(str(x))
    return 2 * x

# no Python
def double(x:
    return 2 * x

# NumPy's generator, imported
from numpy import random
def double(x):
    return random.rand() * x

# NumPy's generator, of no seed
import numpy as np
def double(x):
    return np.random.default_rng().random() * x

# a seed that is None
import numpy as np
def double(x):
    return np.random.default_rng(None).random() * x

# where, with out=None
import numpy as np
def double(x):
    return np.multiply(2.0, x, where=x > 0, out=None)

# where in a dict
import numpy as np
def double(x):
    return np.multiply(2.0, x, **{"where": x > 0})

# a border of memory as it was
import numpy as np
def double(x):
    return np.pad(x, (0, 500), mode="empty")

# the default of a default
def double(x, f=lambda x, memo=[]: memo.append(x)):
    return f(x)

# __new__
class Count:
    n = 0
    def __new__(cls):
        cls.n += 1
        return cls.n
def double(x):
    return x * Count()

# a class as a value
class Count:
    n = 0
    def step(self):
        self.n += 1
        return self.n
def double(x):
    kind = Count
    return kind.step(kind)

# a class in the place of its object
class Count:
    n = 0
    def step(self):
        self = type(self)
        self.n += 1
        return self.n
def double(x):
    return Count().step()

# another module's module
from pathlib import os
def double(x):
    return os.environ.setdefault("memo", str(x))

# a module of a module
import dataclasses
def double(x):
    return dataclasses.sys.modules.setdefault("memo", x)

# a dict of the library
from minalbert.layers import gelu
def double(x):
    return gelu.GELU.setdefault("memo", x)

# NumPy by way of the library
from minalbert_course.block import np
def double(x):
    return np.random.rand() * x

# an array's class under another name
import numpy as np
def double(x):
    make = np.ndarray
    return make(x.shape)

# an array's class, imported under another name
from numpy import ndarray as make
def double(x):
    return make(x.shape)

# a class of arrays
import numpy as np
class Kept(np.ndarray):
    pass
def double(x):
    return Kept(x.shape)

# a class of a class made on the way
class Kept(type("Base", (), {"memo": {}})):
    pass
def double(x):
    return Kept().memo.setdefault(1, x)

# a decorator under the name of another
from functools import cache as property
@property
def double(x):
    return [x]

# an own decorator under the name of another
def dataclass(function):
    memo = {}
    return lambda x: memo.setdefault(1, x)
@dataclass
def double(x):
    return 2 * x

# another decorator's name for a value
property = print
@property
def double(x):
    return 2 * x

# a table or another
TABLE = [1, 2]
def double(x):
    return max(TABLE, [0]).append(x)
"""


def by_kind():
    parts = (part.partition("\n") for part in KEEPS.strip().removeprefix("# ").split("\n\n# "))
    return [pytest.param(text, id=kind) for kind, _, text in parts]


def stateless(text, tmp_path, functions=("double", "double_forward"), suffix=".py"):
    path = tmp_path / f"answer{suffix}"
    path.write_text(text, encoding="utf-8")
    return is_stateless(path, functions)


def test_plain_functions_keep_nothing(tmp_path):
    assert stateless(PLAIN, tmp_path)


@pytest.mark.parametrize("text", by_kind())
def test_what_may_keep_something(text, tmp_path):
    assert not stateless(text, tmp_path)


def test_a_function_that_is_not_asked_may_be_bound_again(tmp_path):
    text = "import functools\ndef double(x):\n    return 2 * x\ntriple = functools.cache(double)"
    assert stateless(text, tmp_path, ["double"])
    assert not stateless(text, tmp_path, ["double", "triple"])
