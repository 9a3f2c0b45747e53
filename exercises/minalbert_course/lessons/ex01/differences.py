"""Where exercise 1's functions are differentiated, and what mistakes make of the gradient."""

import numpy as np

from minalbert.gradcheck.diagnose import guess_shape

from ...compare import Wrong, numbers
from ...given import Given
from ..matches import matches

ONE_NUMBER = "all entries were moved at once; the gradient has a number for each entry, so move one at a time"
AT_HALF, ANOTHER = " at x = 0.5", " of another f at the same x"
REFILLED = " at an array x that held other numbers before"
SHAPES = (1,), (4,), (1, 1), (3, 1), (3, 3), (2, 1, 3), (2, 3, 2, 2), ()


def point(draw, offset=0.0, shape=None, scale=1.0):
    """(what the student's function is given for f, f, x, f's gradient at x)"""
    x = np.asarray(draw.normal(*(draw.sizes(R=2, C=3, least=2) if shape is None else shape)))
    a = draw.gain(x.size).reshape(x.shape)
    given = Given.of("function", "waves", a, offset, scale)
    return given, given.make(), x, scale * (a * np.cos(x) + x * (x * x).sum() / 2)


def points(draw):
    """The draw's, and after the first draw others: (where, given, f, x, gradient)"""
    yield "", *point(draw)
    if draw.first:
        for i, shape in enumerate(SHAPES):
            scale = (1.0, 1e-20, 1e5)[i % 3]
            yield f" at x of shape {shape}{f', f times {scale:g}' * (scale != 1)}", *point(draw, 0.0, shape, scale)
        x, a = np.full((2, 2), 0.5), draw.gain(4).reshape(2, 2)
        for factor in (1.0, -2.0):
            given = Given.of("function", "waves", factor * a, 0.0, 1.0)
            exact = factor * a * np.cos(x) + x * (x * x).sum() / 2
            yield AT_HALF if factor > 0 else ANOTHER, given, given.make(), x, exact
        given, f, x, exact = point(draw)
        yield REFILLED, given, f, x, exact
        yield REFILLED, given, f, 0 * x, given.args[1]
        given, f, x, _ = point(draw)
        x = x + 11 * np.sign(x)
        yield " at x above 10", given, f, x, given.args[1] * np.cos(x) + x * (x * x).sum() / 2
        yield " at x of shape (20, 15)", *point(draw, 0.0, (20, 15))


def handed(where, x):
    """x; or, at REFILLED, one array for all, with x's numbers in it"""
    return Given.of("filled", "x", x) if where == REFILLED else x


def fast(draw):
    """(what the student's function is given for a function that changes fast, x, its gradient at x)"""
    x = draw.normal(3)
    return Given.of("function", "ripples"), x, 10000 * np.cos(10000 * x)


def central_difference(f, x, h):
    return np.array([(f(x + step) - f(x - step)) / (2 * h) for step in h * units(x)]).reshape(x.shape)


def complex_step(f, x):
    return np.array([f(x + 1e-20j * step).imag / 1e-20 for step in units(x)]).reshape(x.shape)


def units(x):
    """For each entry an array with one there, and zeros elsewhere."""
    return np.eye(x.size).reshape(-1, *x.shape)


def relative_error(yours, expected):
    return np.abs(yours - expected).max() / (np.abs(expected).max() or 1.0)


def moved(f, x, h):
    """f with one entry moved by h, for each entry"""
    result = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        result[i] = f(x + step)
    return result


def gradient_of(name, x, yours):
    """An array of x's shape, or Wrong."""
    if x.ndim and isinstance(yours, list | tuple):
        raise Wrong(f"{name} is a {type(yours).__name__}; it must be an array of shape {x.shape}", "np.array makes one")
    yours = numbers(name, yours, x.shape)
    if yours.shape != x.shape:
        cause = guess_shape(yours.shape, x.shape, {}) if yours.ndim or x.size == 1 else ONE_NUMBER
        raise Wrong(f"{name} has shape {yours.shape}; it must be {x.shape}, that of x", cause)
    return yours.astype(float)


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


def order_cause(ratio):
    if 1.8 < ratio < 2.2:
        return "an error in proportion to h, as a one-sided difference has it"
    if 0.95 < ratio < 1.05:
        return "an error that stays: h is not used, or a factor is wrong"
    return "a formula of higher order, in place of (f(x + h) - f(x - h)) / 2h" if ratio > 12 else None


def exactly(name, x, yours, expected, limit):
    """Raise Wrong unless a gradient by complex steps is right to its last digits."""
    yours = gradient_of(name, x, yours)
    if expected.any() and not yours.any():
        lost = ("the imaginary part was lost: a complex number put into an array of floats (a copy of x is one), or "
                "the real part of f taken")  # fmt: skip
        raise Wrong(f"{name} is zero everywhere", lost if np.abs(expected).max() > 1e-10 else None)
    if not np.isfinite(yours).all() and not x[~np.isfinite(yours)].any():
        raise Wrong(f"{name} is not finite where an entry of x is 0",
                    "perhaps: the step depends on x and is 0 there, or such entries are left out")  # fmt: skip
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
