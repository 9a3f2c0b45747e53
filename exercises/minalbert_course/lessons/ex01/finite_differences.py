"""Exercise 1: finite differences and the complex step."""

import functools

import numpy as np

from minalbert.gradcheck.numeric import gradient, slope

from ...compare import Wrong, same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers as outside_numbers
from ..corners import BEFORE, guessing, something
from ..matches import matches
from .differences import (
    ANOTHER,
    AT_HALF,
    REFILLED,
    SHAPES,
    central_difference,
    complex_step,
    exactly,
    fast,
    gradient_of,
    handed,
    moved,
    order_cause,
    other_differences,
    point,
    points,
    relative_error,
)
from .judges import (
    TAKEN_FOR_ZERO,
    errors_of_zero,
    find_wrong,
    judged,
    mixed,
    named,
    near_the_limit,
    not_numbers,
    of_other_shapes,
    small_errors,
    wrong_errors,
)

lesson = Lesson(
    "ex01", "finite differences", minutes=60,
    functions={
        "central_difference": "gradient",
        "complex_step": "gradient",
        "relative_error": "error",
        "find_wrong": "names",
    },
    withheld=(slope, gradient),
    usual_references={"central_difference": central_difference, "complex_step": complex_step,
                      "relative_error": relative_error, "find_wrong": find_wrong},
    own_results=("central_difference", "complex_step"),
)  # fmt: skip

OF_SHAPES = f"perhaps: {BEFORE}; a shape is written in, or a case of its own made for some"
CENTRAL = "gradient_i = (f(x + h e_i) - f(x - h e_i)) / 2h, e_i: one at entry i, zero elsewhere"


def guess_at(where):
    """What may be wrong at one of `points` alone."""
    if where == REFILLED:
        return f"perhaps: {BEFORE}; something is kept for an array, whatever is in it by now"
    if where == ANOTHER:
        return f"perhaps: {BEFORE}; something is kept for an x, whatever f is"
    if "times 1e-20" in where:
        return f"perhaps: {BEFORE}; what is small is taken for zero, or rounded away"
    return OF_SHAPES if where else None


@lesson.check(1.5, "central difference", of="central_difference", formula=CENTRAL)
def central(yours, draw):
    for where, given, f, x, exact in points(draw):
        h = float(0.1 if draw.first and not where else 2.0 if "above 10" in where else draw.uniform(0.05, 0.2))
        h = 0.125 if where in (AT_HALF, ANOTHER) else h
        with guessing(guess_at(where)):
            answer = gradient_of(f"the gradient{where}", x, yours.central_difference(given, handed(where, x), h))
            right = (moved(f, x, h) - moved(f, x, -h)) / (2 * h)
            suspects = functools.partial(other_differences, f, x, h, exact)
            matches(f"the gradient for h = {h:.3g}{where}", answer, right, "ij" if x.ndim == 2 else None, suspects,
                    known={"2h": 2 * h}, limit=1e-8 if where else 1e-9)  # fmt: skip
    x, given = draw.normal(3), Given.of("function", "ripples")
    for h in (1e-5, 1e-8):
        with guessing("perhaps: another h is used than the one that is given, where that is small", few=3):
            right = (moved(given.make(), x, h) - moved(given.make(), x, -h)) / (2 * h)
            answer = gradient_of("the gradient", x, yours.central_difference(given, x, h))
            same(f"the gradient for h = {h:g}", answer, right, limit=1e-6)


@lesson.check(1, "order", of="central_difference", formula=f"{CENTRAL}: half the step, a quarter of the error")
def order(yours, draw):
    given, _, x, exact = point(draw)
    h = 0.01
    answers = [gradient_of("the gradient", x, yours.central_difference(given, x, step)) for step in (h, h / 2)]
    errors = [float(np.abs(answer - exact).max()) for answer in answers]
    ratio = errors[0] / errors[1] if errors[1] else np.inf
    if not 3.9 < ratio < 4.1:
        raise Wrong(f"with half the step the error is {errors[1]:.2g}, before {errors[0]:.2g}: it must fall to a "
                    f"quarter", order_cause(ratio))  # fmt: skip


STEP = "gradient_i = Im f(x + i h e_i) / h, with h about 1e-30"


@lesson.check(2, "complex step", of="complex_step", formula=STEP)
def complex_value(yours, draw):
    for where, given, _, x, exact in points(draw):
        with guessing(guess_at(where)):
            exactly(f"the gradient{where}", x, yours.complex_step(given, handed(where, x)), exact, 1e-12)
    given, x, exact = fast(draw)
    exactly("the gradient of Σ sin(10000 x)", x, yours.complex_step(given, x), exact, 1e-12)


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
    expected.flat[1], wrong.flat[1] = 1.5, -5.5
    expected.flat[2], wrong.flat[2] = 0.001, 0.1
    off = np.abs(wrong - expected).max() / np.abs(expected).max()
    matches("the error", yours.relative_error(wrong, expected), off, suspects=lambda: wrong_errors(wrong, expected))
    with guessing("perhaps: small errors are rounded away"):
        close = expected * (1 + 1e-9)
        off = np.abs(close - expected).max() / np.abs(expected).max()
        same("the error of what is off in its ninth digit", yours.relative_error(close, expected), off)
    off = np.abs(wrong - expected).max() / np.abs(expected).max()
    for scale in (1e-200, 1e-30, 1e-12, 1e-3, 1e6):
        arrays = scale * wrong, scale * expected
        with guessing(f"perhaps: {BEFORE}; something is added, or compared with, that is not zero"):
            matches(f"the error of arrays {scale:g} times as large", yours.relative_error(*arrays), off,
                    suspects=lambda arrays=arrays: small_errors(*arrays))  # fmt: skip
    for shape in SHAPES if draw.first else ():
        expected = np.asarray(draw.normal(*shape))
        wrong = np.asarray(expected + 0.1 * draw.normal(*shape))
        off = np.abs(wrong - expected).max() / np.abs(expected).max()
        with guessing(OF_SHAPES):
            same(f"the error of arrays of shape {shape}", yours.relative_error(wrong, expected), off)
    with guessing("perhaps: where nothing is wrong the error is 0"):
        same("the error of equal arrays", yours.relative_error(expected, expected), 0.0)


@lesson.check(0.5, "expected is zero", of="relative_error", formula=ERROR)
def error_of_zero(yours, draw):
    wrong = draw.normal(*draw.sizes(R=3, C=4))
    wrong.flat[0], zeros = -9.0, np.zeros(wrong.shape)
    for name, array in (("the error where expected is zero", wrong),
                        ("the error where expected is zero, yours small,", 1e-9 * wrong)):  # fmt: skip
        answer = yours.relative_error(array, zeros)
        matches(name, answer, np.abs(array).max(), suspects=lambda array=array: errors_of_zero(array))
    same("the error where both are zero", yours.relative_error(zeros, zeros), 0.0)
    for some in ([-3.0, 0.0], [2.0, -2.0]):
        error = yours.relative_error(np.array(some) + 0.5, np.array(some))
        right, ways = 0.5 / max(map(abs, some)), {TAKEN_FOR_ZERO: np.array(0.5)}
        same(f"the error where expected is {some}, not zero everywhere,", error, right, suspects=ways)


NAMED = "wrong is what is off by a relative error above 1e-10, has a nan in it, or another shape than x"


@lesson.check(1.5, "find wrong", of="find_wrong", formula=NAMED)
def find(yours, draw):
    for scale in (1.0, 1e-6, 1e4):
        given, _, x, exact = point(draw, offset=10000.0, scale=scale)
        where = "" if scale == 1 else f", where f is {scale:g} times as large"
        with guessing(where and "perhaps: something is kept from an earlier call, of another f, or compared with a "
                      "number that does not grow with f"):  # fmt: skip
            judged(yours, draw, given, x, exact, near_the_limit(exact), where)
    given, _, x, exact = point(draw, offset=10000.0, scale=0.0)
    with guessing("perhaps: the error is divided by 0; where expected is zero, it is max|yours - expected| itself"):
        judged(yours, draw, given, x, exact, [
            ("zero everywhere", exact, False),
            ("not zero", exact + 1e-8, True),
            ("off by 1e-12", exact + 1e-12, False),
        ], ", where the gradient is zero")  # fmt: skip
    given, _, x, exact = point(draw, offset=10000.0)
    judged(yours, draw, given, x, exact, [("the gradient itself", exact, False)], held=True)
    further = 2 * x
    there = given.args[1] * np.cos(further) + further * (further * further).sum() / 2
    with guessing("perhaps: the gradient of the same f at another x is kept from an earlier call"):
        others = [*near_the_limit(there), ("the gradient at another x", exact, True)]
        judged(yours, draw, given, further, there, others)
        judged(yours, draw, given, further, there, others, ", at an array x that held other numbers before", held=True)
    other = Given.of("function", "waves", -2 * given.args[1], 10000.0, 1.0)
    there = -2 * given.args[1] * np.cos(x) + x * (x * x).sum() / 2
    with guessing("perhaps: the gradient of another f at the same x is kept from an earlier call"):
        judged(yours, draw, other, x, there, [*near_the_limit(there), ("the gradient of another f", exact, True)])
    for array, wrong in ((there, set()), (2 * there, {"da", "db"})):
        twice = Given.of("one array", ("da", "db"), array)
        if (found := named(yours.find_wrong(other, twice, x), {"da", "db"})) != wrong:
            raise Wrong(f"of one array with two names, {sorted(found) or 'none'} is called wrong, not "
                        f"{sorted(wrong) or 'none'}", "each name is judged: two may have the very same array")
    if found := named(yours.find_wrong(given, {}, x), {}):
        raise Wrong(f"of no candidates, {found} are called wrong")
    given, x, exact = fast(draw)
    with guessing("perhaps: the judge's step is too wide for an f that changes fast; a complex step may be 1e-30"):
        judged(yours, draw, given, x, exact, near_the_limit(exact), ", where f is Σ sin(10000 x)")


@lesson.check(1, "nan and shapes", of="find_wrong", formula=NAMED)
def find_hidden(yours, draw):
    given, _, x, exact = point(draw, offset=10000.0)
    itself = ("the gradient itself", exact, False)
    others = of_other_shapes(exact)
    for some in (not_numbers(exact), others[:5], others[5:]):
        judged(yours, draw, given, x, exact, [itself, *some])
    given, _, x, exact = point(draw, offset=10000.0, scale=0.0)
    single = "a single 0", np.array(0.0), True
    judged(yours, draw, given, x, exact, [*not_numbers(exact)[:3], single], ", where the gradient is zero")
    given, _, x, exact = point(draw, 10000.0, (3, 3))
    itself, turned = ("the gradient itself", exact, False), ("transposed", exact.T.copy(), True)
    for some in ([itself, turned], [itself], [turned]):
        judged(yours, draw, given, x, exact, some)
    for shape in SHAPES if draw.first else ():
        given, _, x, exact = point(draw, 10000.0, shape)
        some = [("the gradient itself", exact, False), ("off by 1e-8", exact * (1 + 1e-8), True)]
        if x.size == 1:
            other = exact[None] if x.ndim == 0 else exact[0]
            some.append((f"of shape {other.shape}", other, True))
        with guessing(OF_SHAPES):
            judged(yours, draw, given, x, exact, some, f", at x of shape {shape}")


@lesson.check(0.5, "inputs untouched", of="central_difference")
def purity(yours, draw):
    given, _, x, exact = point(draw)
    central = yours.central_difference(given, x, 0.1)
    step = yours.complex_step(given, x)
    error = yours.relative_error(exact + x, exact)
    yours.find_wrong(*mixed(draw))
    given, _, x, _ = point(draw, shape=(2, 3, 2))    # asked again with its axes in another order
    yours.central_difference(given, x, 0.1)
    yours.complex_step(given, x)
    something(gradient=central, gradient_by_complex_step=step, error=error)
    yours.untouched()
    if "central_difference" not in yours.failed:
        looked_at(yours, draw)


def looked_at(yours, draw):
    """Check that `central_difference` does not move x itself: here f also reads x."""
    own = draw.normal(2, 3)
    with guessing("perhaps: x itself is moved, while f looks at it; move a copy"):
        f, x = Given.of("function of the shared array", own), Given.of("shared array", own)
        answer = gradient_of("the gradient", own, yours.central_difference(f, x, 0.1))
        matches("the gradient of Σ y x by y, at x", answer, own,
                suspects=lambda: {"x itself is moved, which f looks at; move a copy": 2 * own})  # fmt: skip
