"""Compare as `same` does; where it differs, a mistake is named only if it gives the student's own numbers."""

import numpy as np

from ..compare import LIMIT, OwnGradient, Wrong, same


def matches(
    name, yours, expected, axes=None, suspects=None, terms=None, found=None, natural=None, limit=LIMIT, follows=None,
    **known,
):  # fmt: skip
    """Raise Wrong unless yours is expected.

    suspects   a function that gives {mistake: what it makes}; it is called where something is wrong
    terms      a function that gives {term: its array}; expected is their sum
    found      a function of yours that gives the mistake, or None
    natural    the size of what expected is a difference of: rounding is relative to that
    follows    a function that gives what `same` is told by that name; known: what else it is told
    """
    expected = np.asarray(expected)
    if natural:
        limit *= max(1.0, natural / (np.abs(expected).max(initial=0.0) or 1.0))
    with np.errstate(all="ignore"):
        follows = follows() if follows and isinstance(yours, OwnGradient) else None
    try:
        same(name, yours, expected, axes, limit=limit, follows=follows, **known)
    except Wrong as error:
        array = np.asarray(yours, float)
        if array.shape == expected.shape and array.any() and np.isfinite(array).all():
            with np.errstate(all="ignore"):
                cause = mistake(array, suspects) or factors(array, terms) or (found(array) if found else None)
            error.cause = cause or error.cause
        raise


def mistake(yours, suspects):
    """Which of the suspects gives these numbers, or None."""
    return next((says for says, array in suspects().items() if equals(yours, array)), None) if suspects else None


def equals(yours, array):
    array = np.asarray(array() if callable(array) else array)
    if array.shape != yours.shape or not np.isfinite(array).all():
        return False
    return bool(np.abs(yours - array).max() <= LIMIT * min(np.abs(yours).max(), np.abs(array).max()))


def factors(yours, terms):
    """Which terms have another factor than one, where yours is a sum of multiples of them; or None."""
    parts = {name: np.broadcast_to(array, yours.shape).ravel() for name, array in terms().items()} if terms else {}
    if not 1 < len(parts) < yours.size:
        return None
    matrix = np.stack(list(parts.values()), axis=1)
    found, _, rank, spread = np.linalg.lstsq(matrix, yours.ravel(), rcond=None)
    if rank < len(parts) or spread[-1] < 1e-6 * spread[0] or not equals(yours.ravel(), matrix @ found):
        return None
    other = {name: factor for name, factor in zip(parts, found, strict=True) if abs(factor - 1) > 10 * LIMIT}
    if len(other) > 2 or (len(other) == len(parts) and np.ptp(found) < LIMIT):
        return None
    return "; ".join(f"{name} {in_words(factor)}" for name, factor in other.items()) or None


def in_words(factor):
    if abs(factor) < 10 * LIMIT:
        return "is missing"
    return "has the wrong sign" if abs(factor + 1) < 10 * LIMIT else f"comes in {factor:.5g} times"
