"""Exercise 1: finite differences and the complex step."""

import numpy as np

from minalbert.gradcheck.diagnose import guess_shape
from minalbert.gradcheck.numeric import gradient, slope

from ..compare import Wrong, numbers, same, shown
from ..given import Given
from ..lesson import Lesson
from ..makers import ex01 as ex01  # what this exercise hands out
from ..outside import numbers as outside_numbers

lesson = Lesson(
    "ex01", "finite differences", minutes=60,
    functions={
        "central_difference": "gradient",
        "complex_step": "gradient",
        "relative_error": "error",
        "find_wrong": "names",
    },
    withheld=(slope, gradient),
)  # fmt: skip
LESSONS = [lesson]

ONE_NUMBER = "all entries were moved at once; the gradient has a number for each entry, so move one at a time"


def point(draw, offset=0.0):
    """(what the student's function is given for f, f, x, f's gradient at x)"""
    x = draw.normal(*draw.sizes(R=2, C=3, least=2))
    a = draw.gain(x.size).reshape(x.shape)
    given = Given.of("function", "waves", a, offset)
    return given, given.make(), x, a * np.cos(x) + x * (x * x).sum() / 2


def moved(f, x, h):
    """f with one entry moved by h, for each entry"""
    result = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        result[i] = f(x + step)
    return result


def gradient_of(x, yours):
    """An array of x's shape, or Wrong."""
    yours = numbers("the gradient", yours, x.shape)
    if yours.shape != x.shape:
        cause = guess_shape(yours.shape, x.shape, {}) if yours.ndim else ONE_NUMBER
        raise Wrong(f"the gradient has shape {yours.shape}; it must be {x.shape}, that of x", cause)
    return yours.astype(float)


CENTRAL = "gradient_i = (f(x + h e_i) - f(x - h e_i)) / 2h, e_i: one at entry i, zero elsewhere"


@lesson.check(1.5, "central difference", of="central_difference", formula=CENTRAL)
def central(yours, draw):
    given, f, x, exact = point(draw)
    h = 0.1 if draw.first else draw.uniform(0.05, 0.2)
    right = moved(f, x, h) - moved(f, x, -h)
    suspects = {
        "a one-sided difference, (f(x + h) - f(x)) / h": (moved(f, x, h) - f(x)) / h,
        "a one-sided difference, (f(x) - f(x - h)) / h": (f(x) - moved(f, x, -h)) / h,
        "this is nearer to the derivative than the formula is: is the h used that is given, and no other formula?":
            exact,
        ONE_NUMBER: np.full(x.shape, (f(x + h) - f(x - h)) / (2 * h)),
        "steps pile up: put an entry back before the next is moved": piled(f, x, h),
    }  # fmt: skip
    answer = gradient_of(x, yours.central_difference(given, x, h))
    same(f"the gradient for h = {h:.3g}", answer, right / (2 * h), "ij", known={"2h": 2 * h}, suspects=suspects,
         limit=1e-9)  # fmt: skip


def piled(f, x, h):
    """What comes out where an entry that was moved by -h stays there."""
    result, x = np.empty(x.shape), x.copy()
    for i in np.ndindex(x.shape):
        x[i] += h
        above = f(x)
        x[i] -= 2 * h
        result[i] = (above - f(x)) / (2 * h)
    return result


@lesson.check(1, "order", of="central_difference", formula=f"{CENTRAL}: half the step, a quarter of the error")
def order(yours, draw):
    given, _, x, exact = point(draw)
    h = 0.01
    answers = [gradient_of(x, yours.central_difference(given, x, step)) for step in (h, h / 2)]
    errors = [float(np.abs(answer - exact).max()) for answer in answers]
    ratio = errors[0] / errors[1] if errors[1] else np.inf
    if not 3.9 < ratio < 4.1:
        raise Wrong(f"with half the step the error is {errors[1]:.2g}, before {errors[0]:.2g}: it must fall to a "
                    f"quarter", order_cause(ratio))  # fmt: skip


def order_cause(ratio):
    if 1.8 < ratio < 2.2:
        return "an error in proportion to h, as a one-sided difference has it"
    if 0.95 < ratio < 1.05:
        return "an error that stays: h is not used, or a factor is wrong"
    return "a formula of higher order; what is asked for is the plain one" if ratio > 12 else None


STEP = "gradient_i = Im f(x + i h e_i) / h, with h about 1e-30"


def exactly(name, x, yours, expected, limit):
    yours = gradient_of(x, yours)
    if expected.any() and not yours.any():
        raise Wrong(f"{name} is zero everywhere", "the imaginary part was lost: a complex number put into an array of "
                    "floats (a copy of x is one), or the real part of f taken")  # fmt: skip
    suspects = {
        "right, but not to the last digits: with a complex step there is nothing to subtract, so h may be 1e-30. "
        "Either h is larger, and leaves an error of h², or a difference was taken": expected,
        ONE_NUMBER: np.full(x.shape, expected.sum()),
    }
    same(name, yours, expected, suspects=suspects, limit=limit)


@lesson.check(2, "complex step", of="complex_step", formula=STEP)
def complex_value(yours, draw):
    given, _, x, exact = point(draw)
    exactly("the gradient", x, yours.complex_step(given, x), exact, 1e-12)


@lesson.check(0.5, "Squire and Trapp's", of="complex_step", formula=f"{STEP}; f = exp(x) / (sin³x + cos³x), x = 1.5")
def outside(yours, draw):
    x = np.array([1.5])
    answer = yours.complex_step(Given.of("function", "squire_trapp"), x)
    exactly("the derivative (mpmath's digits)", x, answer, outside_numbers("ex01")["derivative"], 1e-13)


ERROR = "max|yours - expected| / max|expected|, and max|yours - expected| where expected is zero everywhere"


@lesson.check(1.5, "relative error", of="relative_error", formula=ERROR)
def error_value(yours, draw):
    expected = draw.normal(*draw.sizes(R=3, C=4, least=2))
    wrong = expected + 0.1 * draw.normal(*expected.shape)
    expected.flat[0], wrong.flat[0] = -5.0, -5.01    # the largest of both kinds is negative
    expected.flat[1], wrong.flat[1] = 1.0, -6.0
    expected.flat[2], wrong.flat[2] = 0.001, 0.1
    off = np.abs(wrong - expected)
    suspects = {
        "each entry is divided by its own size: one entry near zero then spoils all": off / np.abs(expected),
        "divided by the largest of yours, not of expected": off / np.abs(wrong).max(),
        "divided by both sizes together": off / (np.abs(wrong) + np.abs(expected)),
        "not divided at all": off,
        "the sign of the difference is kept: take absolute values first": (wrong - expected) / np.abs(expected).max(),
        "the signs are kept: take absolute values first": (wrong - expected) / expected.max(),
        "the sign of expected is kept: take absolute values first": off / expected.max(),
    }
    suspects = {cause: np.array([values.max()]) for cause, values in suspects.items()}
    suspects["a mean, where the largest is asked for"] = np.array([off.mean() / np.abs(expected).max()])
    same("the error", yours.relative_error(wrong, expected), off.max() / np.abs(expected).max(), suspects=suspects)


@lesson.check(0.5, "expected is zero", of="relative_error", formula=ERROR)
def error_of_zero(yours, draw):
    wrong = draw.normal(*draw.sizes(R=3, C=4))
    wrong.flat[0], zeros = -9.0, np.zeros(wrong.shape)
    same("the error where expected is zero", yours.relative_error(wrong, zeros), np.abs(wrong).max())
    same("the error where both are zero", yours.relative_error(zeros, zeros), 0.0)
    for some in ([-3.0, 0.0], [1.0, -1.0]):
        error = yours.relative_error(np.array(some) + 0.5, np.array(some))
        same(f"the error where expected is {some}, not zero everywhere,", error, 0.5 / max(map(abs, some)))


NAMED = "wrong is what is off by a relative error above 1e-10, has a nan in it, or another shape than x"


def named(result, gradients):
    """The names, as a set, or Wrong."""
    if isinstance(result, str):
        result = [result]
    if not isinstance(result, list | tuple) or not all(type(name) is str for name in result):
        raise Wrong(f"find_wrong returned {shown(result)}; it must return a list of names")
    if strange := set(result) - set(gradients):
        raise Wrong(f"find_wrong returned {strange.pop()!r}, which is not one of the names {', '.join(gradients)}")
    return set(result)


def judged(yours, draw, given, x, candidates):
    """candidates: [(what it is, the array, the usual cause if it is judged wrongly, is it wrong)]"""
    names = [f"d{letter}" for letter in "abcdefgh"]
    rows = [candidates[i] for i in draw.rng.permutation(len(candidates))]
    gradients = {name: row[1] for name, row in zip(names, rows, strict=False)}
    found = named(yours.find_wrong(given, gradients, x), gradients)
    for name, (what, _, cause, wrong) in zip(names, rows, strict=False):
        if wrong != (name in found):
            verdict = "is wrong, but was not named" if wrong else "is right, but was called wrong"
            raise Wrong(f"{name}, {what}, {verdict}", cause)


NOISE = (
    "either complex_step does not pass its own check yet, or a central difference is the judge: where f is near 10000 "
    "it keeps about six digits"
)


@lesson.check(1.5, "find wrong", of="find_wrong", formula=NAMED)
def find(yours, draw):
    given, _, x, exact = point(draw, offset=10000.0)
    off = exact.copy()
    off.flat[1] += 1e-8 * np.abs(exact).max()
    judged(yours, draw, given, x, [
        ("the gradient itself", exact, NOISE, False),
        ("the gradient with its last digits rounded", exact * (1 + 1e-13), NOISE, False),
        ("off by 1e-8 in one entry", off, "the limit is looser than 1e-10, or not all entries are looked at", True),
        ("of the wrong sign", -exact, "absolute values are missing", True),
        ("zero everywhere", np.zeros(x.shape), None, True),
    ])  # fmt: skip


@lesson.check(1, "nan and shapes", of="find_wrong", formula=NAMED)
def find_hidden(yours, draw):
    given, _, x, exact = point(draw, offset=10000.0)
    hole = exact.copy()
    hole.flat[-1] = np.nan
    judged(yours, draw, given, x, [
        ("the gradient itself", exact, NOISE, False),
        ("with a nan in it", hole, "nan > 1e-10 is False, as every comparison with nan: ask for not error <= 1e-10",
         True),
        (f"of shape {exact[None].shape}", exact[None], f"broadcasting: its difference to an array of shape {x.shape} "
         "can be taken, so the shape has to be asked for", True),
    ])  # fmt: skip


@lesson.check(0.5, "inputs untouched", of="central_difference")
def purity(yours, draw):
    given, _, x, exact = point(draw)
    yours.central_difference(given, x, 0.1)
    yours.complex_step(given, x)
    yours.relative_error(exact + x, exact)
    yours.find_wrong(given, {"dx": exact + x}, x)
    yours.untouched()
