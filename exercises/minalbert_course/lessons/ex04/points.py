"""Numbers at which exercise 4's functions are asked, of any shape."""

import numpy as np

from minalbert.gradcheck.diagnose import certain

from ...alike import alike
from ...compare import LIMIT, Wrong, same
from ...compare import numbers as array_of
from ..corners import MANY, Corner, upstream
from ..matches import matches

FAR_OUT = np.array([[-1000.5, -200.25], [200.25, 1000.5]])
BESIDE_LARGE = [1000.5, 0.5, -0.7, 1.2, -0.3], [-1000.5, 0.02, -0.01, 0.015, -0.02]
WHOLE = "these are whole numbers: np.vectorize gives all of them the dtype of the first, so let it be 1.0, not 1"
BESIDE = (
    "seen: these have other answers beside a large x than alone. Is one rule taken for the whole array, or has it the "
    "dtype of its first number?"
)
FINE = 5e-7                                          # limit from -1.5 to 1.5, where constants of four digits show
NEAR_OR_FAR = 1e-6                                   # limit within 1e-5 of 0, and beyond 5
IF_ROUNDED = {
    FINE: "perhaps: a constant has too few digits",
    NEAR_OR_FAR: "perhaps: x near 0, or far from it, is a case of its own",
}
SHAPES = (
    Corner(B=1, T=1, K=1),
    Corner("tiny", B=2, T=4, K=1),
    Corner("large", B=4, T=1, K=2),
    Corner("zero", B=3, T=2, K=4),
    Corner(B=1, T=3, K=3),
)


def point(draw):
    """x and dy, of the size at which the forms and their derivatives differ"""
    shape = draw.sizes(B=2, T=3, K=5)
    return draw.normal(*shape, scale=1.5), upstream(draw, *shape)


def far(x):
    """Yield (name, array, limit): numbers from -6 to 6, whole ones among them, in one axis and four, a single one, none

    Two limits are narrow: see `FINE` and `NEAR_OR_FAR`.
    """
    shut = np.linspace(-4.5, -3, 13).reshape(1, 13, 1, 1)            # gates, that lose digits of 1 + tanh u
    limits = (np.linspace(-6, 6, 97), LIMIT), (shut, 100 * LIMIT), (x[0], LIMIT), (x[..., None], LIMIT)
    limits += (np.append(np.linspace(5.01, 5.9, 7), 0.5), NEAR_OR_FAR), (np.array([-9e-6, -2e-6, 8e-6]), NEAR_OR_FAR)
    limits += (np.array(0.7), LIMIT), (np.linspace(-0.02, 0.02, 10), 3 * LIMIT), (np.linspace(-1.5, 1.5, 61), FINE)
    for array, limit in limits:
        yield f"for x of shape {array.shape}, {array.min():.3g} to {array.max():.3g}", array, limit
    yield "for x of shape (0, 3)", np.zeros((0, 3)), LIMIT


def compared(name, x, yours, expected, limit, found=None):
    """As `matches`; where a limit is narrow, an answer that is rounded has the cause that goes with the limit."""
    try:
        matches(name, yours, expected, found=found, limit=limit)
    except Wrong as error:
        if limit in IF_ROUNDED and "float32" in (error.cause or ""):
            error.cause, error.final = IF_ROUNDED[limit], True
        elif not certain(error.cause) and np.shape(yours) == x.shape:
            error.cause = wrong_part(x, np.abs(yours - expected) > limit * np.abs(expected).max()) or error.cause
        raise


def wrong_part(x, wrong):
    """In words, where the numbers are wrong: between two of them, or beyond; None where neither holds."""
    if not wrong.any() or wrong.all():
        return None
    (low, high), (first, last) = ((part.min(), part.max()) for part in (x[wrong], x[~wrong]))
    if not ((low <= x) & (x <= high) & ~wrong).any():
        end = f" to {high:.4g}" if high > low else ""
        return f"seen: wrong where x is {low:.4g}{end}, and right elsewhere"
    if not ((first <= x) & (x <= last) & wrong).any():
        return f"seen: right where x is {first:.4g} to {last:.4g}, and wrong beyond"
    return None


def far_out(name, answer, expected, of, instead="", suspects=None):
    name = f"{name} at -1000.5, -200.25, 200.25, 1000.5"
    if not np.isfinite(array_of(name, answer, expected.shape)).all():
        raise Wrong(f"{name} is not finite", f"exp of a large number overflows{instead}", of)
    same(name, answer, expected, suspects=suspects)
    first = np.asarray(answer)[0]                    # zeros, beside which 1000 is far too large
    if expected[0].any():
        same(f"the first row of {name}", first, expected[0])
    elif np.abs(first).max() > 1e-9:
        raise Wrong(f"{name} begins with {first[0]:.3g}, {first[1]:.3g}; both must be 0",
                    "perhaps: x is cut off, and a gate that is nearly 0 is multiplied with a large x", of)  # fmt: skip


def beside_large(name, of, answers):
    """Beside a large x the others have the answers that they have alone, be these right or not.

    answers    the student's function of x
    """
    for first, *others in BESIDE_LARGE:
        x, seen = np.array([first, *others]), f"{name} at {', '.join(f'{number:g}' for number in others)}"
        alone, mixed = array_of(name, answers(x[1:])), array_of(name, answers(x))
        if alone.shape == x[1:].shape and np.isfinite(alone).all():
            try:
                same(f"{seen} beside {first:g}", mixed[1:] if mixed.shape == x.shape else mixed, alone)
            except Wrong as error:
                error.cause, error.of = WHOLE if mixed.dtype.kind in "iu" else BESIDE, of
                error.final, error.exact = True, False
                raise


def all_open(forward, backward, dy):
    """Where each x is large y is x, and dx is dy: equal to what was given, and yet new arrays."""
    y, cache = forward(FAR_OUT[1:])
    same("y at 200.25, 1000.5", y, FAR_OUT[1:])
    same("dx at 200.25, 1000.5", backward(dy[1:], cache), dy[1:])


def with_many(yours, pair, draw):
    """So many numbers that an answer may save memory and work in place, for `untouched` to find, or go through them in
    pieces: the first and the last of them have the answers that they have alone."""
    if not draw.first:
        return
    x, dy = (draw.normal(MANY)[: MANY - 3] for _ in "xy")      # 19997 is prime: pieces of no size fill it
    ends = np.r_[:50, -50:0]

    def answers(places):
        y, _ = getattr(yours, f"{pair}_forward")(x[places])
        return y, yours.forward_and_back(pair, dy[places], x[places])

    for name, many, few in zip(("y", "dx"), answers(slice(None)), answers(ends), strict=True):
        many, few = array_of(name, many, x.shape), array_of(name, few, ends.shape)
        if many.shape != x.shape or not alike(few, many[ends], LIMIT):
            raise Wrong(f"{name} of {x.size} numbers is another than of a hundred of them alone",
                        "perhaps: a long array is gone through in pieces, and one of them is left out",
                        f"{pair}_{'forward' if name == 'y' else 'backward'}")  # fmt: skip
