"""Files whose text shows that their functions keep nothing, and those that might keep something."""

import pytest

from minalbert_course.stateless import is_stateless

PLAIN = '''
import math

import numpy as np

SCALE, EPS = math.sqrt(2 / math.pi), np.float32(1e-12)
NAMES = ("gain", "bias")
HALF = SCALE / 2


def helper(x, eps=EPS, *, names=NAMES):
    """Doc"""
    found = {name: [x] for name in names}
    found["gain"].append(np.where(x > 0, x, eps) * HALF)
    return found


def double_forward(x: np.ndarray) -> tuple:
    parts = [row for row in helper(x).values()]
    scaled = lambda y, by=len(parts): by * y
    try:
        return scaled(sum(parts[0])), {"x": x, "shape": x.shape}
    except ValueError as error:
        raise TypeError(f"{error}") from error


if __name__ == "__main__":
    x = np.ones(3)
    losses = [double_forward(x)[0] for _ in range(3)]
    print(losses)

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
memo = {}
def double(x):
    return memo.get(1, x)

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
    return xp.random.rand()

# a class
class Kept:
    memo = {}
def double(x):
    return Kept.memo.setdefault(len(x), 2 * x)

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

# check as a memo
check = {}
def double(x):
    return check.setdefault(1, x)

# a name like a comprehension's
memo = {}
def double(x):
    def listcomp():
        return memo
    return x

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
