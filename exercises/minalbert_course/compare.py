"""Compare what came back with what is right, and explain a difference: where, by how much, its likely cause.

`Wrong` is what a check raises. Numbers may be off by LIMIT, relative to the largest: ten times what float32 loses in
an exercise, a hundredth of what any mistake in the catalogue of wrong solutions makes.
"""

import contextlib
import contextvars

import numpy as np

from minalbert.gradcheck.diagnose import PERHAPS, certain, digits, guess, guess_shape

LIMIT = 1e-5
NOTHING = "a return, or a value in it, is missing"

FEW = 24                                             # entries: as text they have more than 60 letters
NEAR = 0.97                                          # cosine to the right gradient, for one of another forward function


class Wrong(Exception):
    """seen: what is wrong, with numbers; cause: what that usually means; of: the function, if not the check's

    numbers: (yours, expected), where these are arrays; final: no other cause is looked for; exact: the cause was
    computed, and gives the very numbers
    """

    final = exact = False

    def __init__(self, seen, cause=None, of=None, numbers=None):
        super().__init__(seen)
        self.seen, self.cause, self.of, self.numbers = seen, cause, of, numbers

    @property
    def near(self):
        """The cosine between the numbers and the right ones, or None."""
        if self.numbers is None or self.numbers[0].shape != self.numbers[1].shape:
            return None
        return cosine(*self.numbers)


EXPLAINING = contextvars.ContextVar("EXPLAINING", default=True)


@contextlib.contextmanager
def without_causes():
    """Meanwhile a Wrong says no cause, which takes most of its time."""
    token = EXPLAINING.set(False)
    try:
        yield
    finally:
        EXPLAINING.reset(token)


class OwnGradient(np.ndarray):
    """A gradient that follows a wrong forward function. What is computed from it is nothing special.

    derivative   is it the derivative of the student's own forward function?
    causes       what is known to be wrong with that
    """

    derivative, causes = False, ()

    @classmethod
    def of(cls, gradient, derivative, causes):
        gradient = gradient.view(cls)
        gradient.derivative, gradient.causes = derivative, causes
        return gradient


def same(name, yours, expected, axes=None, laws=(), known=None, suspects=None, limit=LIMIT, follows=None):
    """Raise Wrong unless yours is the expected array, or number, up to `limit`.

    axes      letters of the axes, for the place of the worst entry: "btd"
    laws, known, suspects      what diagnose should know of this answer
    follows   {cause: a gradient that is right after a forward function with that mistake}, the cause in the words of
              the forward function's check
    """
    expected, given = np.asarray(expected), yours
    yours = numbers(name, yours, expected.shape)
    if yours.shape != expected.shape:
        cause = guess_shape(yours.shape, expected.shape, {})
        cause = f"{PERHAPS}{cause}" if certain(cause) else cause         # no number was compared
        seen = f"{name} has shape {yours.shape}; it must be {expected.shape}"
        raise Wrong(seen, cause, numbers=(yours, expected))
    if not equals(yours, expected, limit):
        if isinstance(given, OwnGradient):
            followed = [answer for cause, answer in (follows or {}).items() if cause in given.causes]
            if given.derivative and cosine(yours, expected) >= NEAR:
                return
            if any(equals(yours, answer, limit) for answer in followed):
                return
        if not EXPLAINING.get():
            raise Wrong(f"{name} is wrong", numbers=(yours, expected))
        seen, cause = explain(name, yours.astype(float), expected.astype(float), axes, (laws, known, suspects))
        raise exactly(Wrong(seen, cause, numbers=(yours, expected)))


def exactly(error):
    """The Wrong, whose cause gives its numbers, unless its words say that it may not; one number says too little."""
    error.exact = certain(error.cause) and error.numbers[1].size > 1
    return error


def equals(yours, expected, limit):
    size = float(np.abs(expected).max(initial=0.0)) or 1.0
    with np.errstate(invalid="ignore"):              # an infinity less another one
        difference = np.abs(np.subtract(yours, expected, dtype=np.result_type(yours, expected, float)))
    return not difference.size or bool(difference.max() <= limit * size)         # a NaN is not


def cosine(yours, expected):
    """One where the arrays have the same direction, at most 0 where they have nothing in common."""
    yours, expected = (np.asarray(array, float).ravel() for array in (yours, expected))
    with np.errstate(all="ignore"):
        lengths = np.sqrt((yours @ yours) * (expected @ expected))
    return float(yours @ expected / lengths) if 0 < lengths < np.inf else 0.0


def agrees(name, yours, expected, of):
    """As `same`, without a cause: the check of the function `of` reports it."""
    try:
        same(name, yours, expected)
    except Wrong as error:
        raise Wrong(error.seen, None, of, error.numbers) from None


def explain(name, yours, expected, axes, knowledge):
    """(what is seen, the likely cause)"""
    difference = np.nan_to_num(np.abs(yours - expected), nan=np.inf)
    worst = np.unravel_index(np.argmax(difference), expected.shape)
    mine, right = float(yours[worst]), float(expected[worst])
    place = [f"{axis}={i}" for axis, i in zip(axes, worst, strict=True)] if axes else map(str, map(int, worst))
    where = f"{name}: worst entry [{', '.join(place)}]" if expected.ndim else f"{name}:"
    ratio = f"   ratio {digits(mine / right, 4)}" if right else ""
    cause = guess(np.atleast_1d(yours), np.atleast_1d(expected), *knowledge, gradient=name.startswith("d"))
    return f"{where}   yours {mine:.6g}   expected {right:.6g}{ratio}", cause


def equal(name, yours, expected, cause=None):
    """Raise Wrong unless yours is exactly that: whole numbers, words, or arrays of them."""
    yours = plain(yours)
    if yours is None and expected is not None:
        cause = cause if cause and certain(cause) else NOTHING
    if isinstance(expected, np.ndarray):
        yours = numbers(name, yours, expected.shape)
        if yours.shape != expected.shape:
            raise Wrong(f"{name} has shape {yours.shape}; it must be {expected.shape}", cause)
        different = np.argwhere(yours != expected)
        if len(different):
            place = tuple(int(i) for i in different[0])
            raise Wrong(f"{name}{list(place)} is {shown(yours[place])}; it must be {shown(expected[place])}", cause)
    elif not (type(yours) is type(expected) or (is_number(yours) and is_number(expected))) or yours != expected:
        raise Wrong(f"{name} is {shown(yours)}; it must be {shown(expected)}", cause)


def plain(value):
    """The value as it travels between processes: Python's own numbers and texts, lists, dicts."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        return value.item()
    if isinstance(value, dict):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | range):
        return [plain(part) for part in value]
    return tuple(plain(part) for part in value) if type(value) is tuple else value


def numbers(name, value, shape=None):
    """The value as an array of real numbers, or Wrong."""
    wanted = "an array" if shape is None else f"an array of shape {shape}" if shape else "a number"
    if value is None:
        raise Wrong(f"{name} is None; it must be {wanted}", NOTHING)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind == "c":
        raise Wrong(f"{name} is complex; it must be {wanted} of real numbers", "take .real or .imag of it")
    if array.dtype.kind not in "fiub":
        raise Wrong(f"{name} is {shown(value)}; it must be {wanted}")
    return array


def is_number(value):
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def shown(value):
    text = repr(few(value.item() if isinstance(value, np.generic) else value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def few(value):
    """As much of a value as its first letters show; to write all of a large one takes long"""
    if isinstance(value, np.ndarray):
        return value[(slice(FEW),) * value.ndim]
    if type(value) in (list, tuple):
        return type(value)(map(few, value[:FEW]))
    return {key: few(value[key]) for key in list(value)[:FEW]} if type(value) is dict else value
