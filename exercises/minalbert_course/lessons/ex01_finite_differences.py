"""Exercise 1: finite differences and the complex step."""

import functools

import numpy as np

from minalbert.gradcheck.diagnose import guess_shape
from minalbert.gradcheck.numeric import gradient, slope

from ..compare import LIMIT, Wrong, numbers, same, shown
from ..given import Given
from ..lesson import Lesson
from ..makers import ex01 as ex01  # what this exercise hands out
from ..outside import numbers as outside_numbers
from ..yours import NotWritten, Stopped
from .corners import ELSEWHERE, something
from .matches import matches

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


SHAPES = (1,), (4,), (1, 1), (3, 1), (3, 3), (2, 1, 3), (2, 3, 2, 2)


def point(draw, offset=0.0, shape=None, scale=1.0):
    """(what the student's function is given for f, f, x, f's gradient at x)"""
    x = draw.normal(*(shape or draw.sizes(R=2, C=3, least=2)))
    a = draw.gain(x.size).reshape(x.shape)
    given = Given.of("function", "waves", a, offset, scale)
    return given, given.make(), x, scale * (a * np.cos(x) + x * (x * x).sum() / 2)


def points(draw):
    """The draw's, and after the first draw others: (where, given, f, x, gradient)"""
    yield "", *point(draw)
    if draw.first:
        for i, shape in enumerate(SHAPES):
            scale = (1.0, 1e-7, 1e5)[i % 3]
            yield f" at x of shape {shape}{f', f times {scale:g}' * (scale != 1)}", *point(draw, 0.0, shape, scale)
        given, f, x, _ = point(draw)
        yield " at x = 0", given, f, 0 * x, given.args[1]
        given, f, x, _ = point(draw)
        x = x + 11 * np.sign(x)
        yield " at x above 10", given, f, x, given.args[1] * np.cos(x) + x * (x * x).sum() / 2


def moved(f, x, h):
    """f with one entry moved by h, for each entry"""
    result = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        result[i] = f(x + step)
    return result


def gradient_of(x, yours, where=""):
    """An array of x's shape, or Wrong."""
    if where:
        cause = ELSEWHERE
        if np.shape(yours) != x.shape:
            raise Wrong(f"the gradient{where} has shape {np.shape(yours)}; it must be {x.shape}", cause)
    yours = numbers("the gradient", yours, x.shape)
    if yours.shape != x.shape:
        cause = guess_shape(yours.shape, x.shape, {}) if yours.ndim else ONE_NUMBER
        raise Wrong(f"the gradient has shape {yours.shape}; it must be {x.shape}, that of x", cause)
    return yours.astype(float)


CENTRAL = "gradient_i = (f(x + h e_i) - f(x - h e_i)) / 2h, e_i: one at entry i, zero elsewhere"


@lesson.check(1.5, "central difference", of="central_difference", formula=CENTRAL)
def central(yours, draw):
    for where, given, f, x, exact in points(draw):
        h = float(0.1 if draw.first and not where else 2.0 if "above 10" in where else draw.uniform(0.05, 0.2))
        name = f"the gradient for h = {h:.3g}{where}"
        answer = gradient_of(x, yours.central_difference(given, x, h), where)
        right = (moved(f, x, h) - moved(f, x, -h)) / (2 * h)
        if where:
            elsewhere(name, answer, right, 1e-8)
        else:
            suspects = functools.partial(other_differences, f, x, h, exact)
            matches(name, answer, right, "ij", suspects, known={"2h": 2 * h}, limit=1e-9)


def elsewhere(name, answer, right, limit):
    try:
        same(name, answer, right, limit=limit)
    except Wrong as error:
        raise Wrong(error.seen, ELSEWHERE) from None


def other_differences(f, x, h, exact):
    above, below, here = moved(f, x, h), moved(f, x, -h), f(x)
    wide = moved(f, x, 2 * h), moved(f, x, -2 * h)
    return {
        "a one-sided difference, (f(x + h) - f(x)) / h": (above - here) / h,
        "a one-sided difference, (f(x) - f(x - h)) / h": (here - below) / h,
        "this is nearer to the derivative than the formula is: is the h used that is given, and no other formula?":
            lambda: exact,
        ONE_NUMBER: np.full(x.shape, (f(x + h) - f(x - h)) / (2 * h)),
        "steps pile up: put an entry back before the next is moved": piled(f, x, h),
        "half the step is used": (moved(f, x, h / 2) - moved(f, x, -h / 2)) / h,
        "twice the step is used": (wide[0] - wide[1]) / (4 * h),
        "both values are added, where one must be subtracted": (above + below) / (2 * h),
        "absolute values are taken": np.abs(above - below) / (2 * h),
        "divided by 2, but not by h": (above - below) / 2,
        "this is the second derivative": (above - 2 * here + below) / h**2,
        "a formula of higher order, in place of (f(x + h) - f(x - h)) / 2h":
            (8 * (above - below) - (wide[0] - wide[1])) / (12 * h),
        "half of a one-sided difference, (f(x + h) - f(x)) / 2h": (above - here) / (2 * h),
        "half of a one-sided difference, (f(x) - f(x - h)) / 2h": (here - below) / (2 * h),
        "the first entry is left out": np.where(np.arange(x.size).reshape(x.shape) == 0, 0, (above - below) / (2 * h)),
        "the last entry is left out": np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, 0,
                                               (above - below) / (2 * h)),
        "divided by h as well as by x": (above - below) / (2 * h) / x,
    }  # fmt: skip


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
    return "a formula of higher order, in place of (f(x + h) - f(x - h)) / 2h" if ratio > 12 else None


STEP = "gradient_i = Im f(x + i h e_i) / h, with h about 1e-30"


def exactly(name, x, yours, expected, limit):
    yours = gradient_of(x, yours)
    if expected.any() and not yours.any():
        raise Wrong(f"{name} is zero everywhere", "the imaginary part was lost: a complex number put into an array of "
                    "floats (a copy of x is one), or the real part of f taken")  # fmt: skip
    places = np.arange(x.size).reshape(x.shape)
    suspects = {
        "right, but not to the last digits: with a complex step there is nothing to subtract, so h may be 1e-30. "
        "Either h is larger, and leaves an error of h², or a difference was taken": expected,
        ONE_NUMBER: np.full(x.shape, expected.sum()),
        "absolute values are taken": np.abs(expected),
        "the first entry is left out": np.where(places == 0, 0, expected),
        "the last entry is left out": np.where(places == x.size - 1, 0, expected),
    }
    matches(name, yours, expected, suspects=lambda: suspects, limit=limit)


@lesson.check(2, "complex step", of="complex_step", formula=STEP)
def complex_value(yours, draw):
    for where, given, _, x, exact in points(draw):
        answer = yours.complex_step(given, x)
        if where:
            elsewhere(f"the gradient{where}", gradient_of(x, answer, where), exact, 1e-12)
        else:
            exactly("the gradient", x, answer, exact, 1e-12)


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
    suspects = {cause: np.array(values.max()) for cause, values in suspects.items()}
    largest, length = np.abs(expected).max(), np.linalg.norm
    suspects |= {
        "a mean, where the largest is asked for": off.mean() / largest,
        "means of both, where the largest are asked for": off.mean() / np.abs(expected).mean(),
        "sums of both, where the largest are asked for": off.sum() / np.abs(expected).sum(),
        "lengths of both, where the largest are asked for": length(wrong - expected) / length(expected),
        "the smallest difference, where the largest is asked for": off.min() / largest,
        "squares, where absolute values are asked for": (off**2).max() / largest,
        "the relative error is turned over": largest / off.max(),
        "both are multiplied, where they must be divided": off.max() * largest,
        "divided by the smallest of expected, not by the largest": off.max() / np.abs(expected).min(),
        "divided by yours as well as expected, the larger": off.max() / max(np.abs(wrong).max(), largest),
        "the largest of yours less the largest of expected is taken": abs(np.abs(wrong).max() - largest) / largest,
        "the sizes are added": (np.abs(wrong) + np.abs(expected)).max() / largest,
    }
    answer = yours.relative_error(wrong, expected)
    matches("the error", answer, off.max() / largest, suspects=lambda: suspects)
    for scale in (1e-12, 1e-3, 1e6):
        answer = yours.relative_error(scale * wrong, scale * expected)
        elsewhere(f"the error of arrays {scale:g} times as large", answer, off.max() / largest, LIMIT)
    for shape in SHAPES if draw.first else ():
        expected = draw.normal(*shape)
        wrong, largest = expected + 0.1 * draw.normal(*shape), np.abs(expected).max()
        answer = yours.relative_error(wrong, expected)
        elsewhere(f"the error of arrays of shape {shape}", answer, np.abs(wrong - expected).max() / largest, LIMIT)
    elsewhere("the error of equal arrays", yours.relative_error(expected, expected), 0.0, LIMIT)


@lesson.check(0.5, "expected is zero", of="relative_error", formula=ERROR)
def error_of_zero(yours, draw):
    wrong = draw.normal(*draw.sizes(R=3, C=4))
    wrong.flat[0], zeros = -9.0, np.zeros(wrong.shape)
    answer = yours.relative_error(wrong, zeros)
    ways = {"the sign is kept: take absolute values first": wrong.max(), "a mean, where the largest is asked for":
            np.abs(wrong).mean(), "a sum, where the largest is asked for": np.abs(wrong).sum()}  # fmt: skip
    matches("the error where expected is zero", answer, np.abs(wrong).max(), suspects=lambda: ways)
    same("the error where expected is zero", yours.relative_error(1e-9 * wrong, zeros), 1e-9 * np.abs(wrong).max())
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


def judged(yours, draw, given, x, exact, candidates, where=""):
    """candidates: [(what it is, the array, the usual cause if it is judged wrongly, is it wrong)]"""
    names = [f"d{letter}" for letter in "abcdefghijklmnop"[: len(candidates)]]
    names = dict(zip(draw.rng.permutation(len(candidates)), names, strict=True))
    gradients = {names[i]: candidates[i][1] for i in sorted(names, key=names.get)}
    found = named(yours.find_wrong(given, gradients, x), gradients)
    for i, (what, array, cause, wrong) in enumerate(candidates):
        told_apart = 0 < len(found) < len(names)
        if wrong != (names[i] in found) and not (told_apart and by_own_error(yours, array, exact, wrong)):
            verdict = "is wrong, but was not named" if wrong else "is right, but was called wrong"
            raise Wrong(f"{names[i]}, {what}{where}, {verdict}", cause)


def by_own_error(yours, array, exact, wrong):
    """Does the student's relative error, which has its own check, say otherwise of a candidate?"""
    try:
        fits = array.shape == exact.shape and np.isfinite(array).all()
        return bool(fits and wrong == (yours.relative_error(array, exact) <= 1e-10))
    except (NotWritten, Stopped, TypeError, ValueError):
        return False


NOISE = (
    "either complex_step does not pass its own check yet, or a central difference is the judge: where f is near 10000 "
    "it keeps about six digits"
)


LOOSE = "the limit is looser than 1e-10, or a mean is taken, or not all entries are looked at"
STRICT = "the limit is stricter than 1e-10, or each entry is divided by its own size, not by the largest"
SIGNS = "perhaps: absolute values are missing"


@lesson.check(1.5, "find wrong", of="find_wrong", formula=NAMED)
def find(yours, draw):
    for scale in (1.0, 1e-6, 1e4):
        given, _, x, exact = point(draw, offset=10000.0, scale=scale)
        size, last = np.abs(exact).max(), np.unravel_index(np.abs(exact).argmin(), exact.shape)

        def off(by, exact=exact, size=size, last=last):
            """One entry, the smallest, off by so much of the largest."""
            moved = exact.copy()
            moved[last] += by * size
            return moved

        judged(yours, draw, given, x, exact, [
            ("the gradient itself", exact, NOISE, False),
            ("the gradient with its last digits rounded", exact * (1 + 1e-13), NOISE, False),
            ("off by 5e-11 of the largest in one entry", off(5e-11), STRICT, False),
            ("off by 2e-10 of the largest in one entry", off(2e-10), LOOSE, True),
            ("off by 1e-8 in one entry", off(1e-8), LOOSE, True),
            ("off by -1e-8 in one entry", off(-1e-8), SIGNS, True),
            ("of the wrong sign", -exact, SIGNS, True),
            ("twice as large", 2 * exact, SIGNS, True),
            ("zero everywhere", np.zeros(x.shape), None, True),
        ], "" if scale == 1 else f", where f is {scale:g} times as large")  # fmt: skip
    given, _, x, exact = point(draw, offset=10000.0, scale=0.0)
    judged(yours, draw, given, x, exact, [
        ("zero everywhere", exact, "perhaps: the error is divided by 0", False),
        ("not zero", exact + 1e-8, "perhaps: the error is divided by 0", True),
        ("off by 1e-12", exact + 1e-12, "where expected is zero, the error is max|yours - expected| itself", False),
    ], ", where the gradient is zero")  # fmt: skip
    given, _, x, exact = point(draw, offset=10000.0)
    if found := named(yours.find_wrong(given, {}, x), {}):
        raise Wrong(f"of no candidates, {found} are called wrong")


@lesson.check(1, "nan and shapes", of="find_wrong", formula=NAMED)
def find_hidden(yours, draw):
    given, _, x, exact = point(draw, offset=10000.0)
    filled = {}
    for what, number in (("a nan", np.nan), ("inf", np.inf), ("-inf", -np.inf)):
        for place, where in (("first", 0), ("second", 1), ("last", -1)):
            filled[f"with {what} in its {place} entry"] = exact.copy()
            filled[f"with {what} in its {place} entry"].flat[where] = number
    nans = "nan > 1e-10 is False, as every comparison with nan: ask for not error <= 1e-10"
    shapes = "perhaps broadcasting: differences to some other shapes can be taken, so the shape has to be asked for"
    others = (exact[None], exact[:1], exact[:, :1], exact[0], exact[:, None], exact[0, 0])       # these broadcast
    others += (exact[..., None], exact.T, exact.ravel(), exact[:, :1, None])
    candidates = [("the gradient itself", exact, NOISE, False)]
    for what, array in filled.items():
        candidates.append((what, array, nans if "nan" in what else "inf is not finite", True))
    candidates += [(f"of shape {np.shape(array)}", np.array(array), shapes, True) for array in others
                   if np.shape(array) != exact.shape]  # fmt: skip
    for some in (candidates[:10], candidates[:1] + candidates[10:15], candidates[:1] + candidates[15:]):
        judged(yours, draw, given, x, exact, some)
    single = point(draw, 10000.0, (3, 3))
    alike = [("the gradient itself", single[3], NOISE, False),
             ("transposed", single[3].T.copy(), "perhaps: not all entries are looked at", True)]  # fmt: skip
    judged(yours, draw, single[0], single[2], single[3], alike)
    judged(yours, draw, single[0], single[2], single[3], alike[:1])
    judged(yours, draw, single[0], single[2], single[3], alike[1:])
    for shape in SHAPES if draw.first else ():
        given, _, x, exact = point(draw, 10000.0, shape)
        judged(yours, draw, given, x, exact, [("the gradient itself", exact, ELSEWHERE, False),
                                       ("off by 1e-8", exact * (1 + 1e-8), ELSEWHERE, True)])  # fmt: skip


@lesson.check(0.5, "inputs untouched", of="central_difference")
def purity(yours, draw):
    given, _, x, exact = point(draw)
    central = yours.central_difference(given, x, 0.1)
    step = yours.complex_step(given, x)
    error = yours.relative_error(exact + x, exact)
    yours.find_wrong(given, {"dx": exact + x}, x)
    something(gradient=central, gradient_by_complex_step=step, error=error)
    yours.untouched()
