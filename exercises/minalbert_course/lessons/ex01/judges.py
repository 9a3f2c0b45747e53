"""What mistakes make of exercise 1's relative error, and of the names that are wrong by it."""

import numpy as np

from ...compare import Wrong, shown
from ...given import Given
from ...values import NotWritten, Stopped
from .differences import complex_step, point, relative_error

NOT_DIVIDED = "not divided where expected is small; only where it is zero everywhere there is nothing to divide by"
TAKEN_FOR_ZERO = "not divided, as if expected were zero everywhere; ask for its largest absolute value"
CONSTANTS = [10.0**power for power in range(-30, 1)]


def wrong_errors(wrong, expected):
    """{mistake: the number that it gives}"""
    off = np.abs(wrong - expected)
    suspects = {
        "each entry is divided by its own size: one entry near zero then spoils all": off / np.abs(expected),
        "divided by the largest of yours, not of expected": off / np.abs(wrong).max(),
        "divided by both sizes together, or cut to 1": off / (np.abs(wrong) + np.abs(expected)),
        "not divided at all": off,
        "the sign of the difference is kept: take absolute values first": (wrong - expected) / np.abs(expected).max(),
        "the signs are kept: take absolute values first": (wrong - expected) / expected.max(),
        "the sign of expected is kept: take absolute values first": off / expected.max(),
    }
    suspects = {cause: np.array(values.max()) for cause, values in suspects.items()}
    largest, length = np.abs(expected).max(), np.linalg.norm
    return suspects | {
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
        "the largest sum of a row, where the largest entry is asked for": by_sums(off, expected, axis=-1),
        "the largest sum of a column, where the largest entry is asked for": by_sums(off, expected, axis=0),
        "the sizes are added": (np.abs(wrong) + np.abs(expected)).max() / largest,
    }


def by_sums(off, expected, axis):
    return off.sum(axis=axis).max() / np.abs(expected).sum(axis=axis).max()


def small_errors(wrong, expected):
    """What rules for small numbers make of it: {mistake: number}"""
    off, largest = np.abs(wrong - expected).max(), np.abs(expected).max()
    ways = {NOT_DIVIDED: off}
    for constant in CONSTANTS:
        ways[f"{constant:g} is added to what is divided by"] = off / (largest + constant)
        ways[f"what is divided by is {constant:g} at least"] = off / max(largest, constant)
    return {says: np.array(number) for says, number in ways.items()}


def errors_of_zero(wrong):
    """What mistakes make of the error where expected is zero: {mistake: number}"""
    sizes = np.abs(wrong)
    ways = {
        "the sign is kept: take absolute values first": wrong.max(),
        "a mean, where the largest is asked for": sizes.mean(),
        "a sum, where the largest is asked for": sizes.sum(),
        "a length, where the largest is asked for": np.linalg.norm(wrong),
        "the smallest, where the largest is asked for": sizes.min(),
        "divided by the largest of yours, or 1 is returned": 1.0,
        "0 is returned where there is nothing to divide by": 0.0,
        "infinity is returned where there is nothing to divide by": np.inf,
    }
    ways |= {f"divided by {constant:g}, where there is nothing to divide by": sizes.max() / constant
             for constant in CONSTANTS[:-1]}  # fmt: skip
    return {says: np.array(number) for says, number in ways.items()}


def find_wrong(f, gradients, x):
    right = complex_step(f, x)
    return [name for name, array in gradients.items()
            if array.shape != x.shape or not relative_error(array, right) <= 1e-10]  # fmt: skip


def named(result, gradients):
    """The names, as a set, or Wrong."""
    if isinstance(result, str):
        result = [result]
    if not isinstance(result, list | tuple) or not all(type(name) is str for name in result):
        raise Wrong(f"find_wrong returned {shown(result)}; it must return a list of names")
    if strange := set(result) - set(gradients):
        raise Wrong(f"find_wrong returned {strange.pop()!r}, which is not one of the names {', '.join(gradients)}")
    if len(set(result)) < len(result):
        twice = next(name for name in result if result.count(name) > 1)
        raise Wrong(f"find_wrong names {twice!r} {result.count(twice)} times; each wrong one must be named once",
                    "a candidate may be wrong for two reasons: name it once")  # fmt: skip
    return set(result)


def judged(yours, draw, given, x, exact, candidates, where="", held=False):
    """candidates: [(what it is, the array, is it wrong)]   held: x's numbers stand in one array for all such calls"""
    prefix = "" if draw.first else "block 0: "       # any text is a name; later draws have such
    names = [f"{prefix}d{letter}" for letter in "abcdefghijklmnop"[: len(candidates)]]
    names = dict(zip(draw.rng.permutation(len(candidates)), names, strict=True))
    gradients = {names[i]: np.asarray(candidates[i][1]) for i in sorted(names, key=names.get)}
    found = named(yours.find_wrong(given, gradients, Given.of("filled", "x", x) if held else x), gradients)
    for i, (what, array, wrong) in enumerate(candidates):
        told_apart = 0 < len(found) < len(names)
        if wrong != (names[i] in found) and not (told_apart and by_own_error(yours, array, exact, wrong)):
            verdict = "is wrong, but was not named" if wrong else "is right, but was called wrong"
            verdicts = [names[i] in found for i in range(len(candidates))]
            own = cause_of(verdicts, candidates, of_own_steps(yours, given, x, exact))
            cause = own or cause_of(verdicts, candidates, judges(given.make(), x, exact))
            raise Wrong(f"{names[i]}, {what}{where}, {verdict}", cause)


def of_own_steps(yours, given, x, exact):
    """The judge that has a wrong complex_step, which has its own check."""
    try:
        steps = np.asarray(yours.complex_step(given, x))
    except (NotWritten, Stopped):
        return []
    right = steps.shape == exact.shape and steps.dtype.kind == "f" and np.abs(steps - exact).max() <= 1e-10 * (
        np.abs(exact).max())  # fmt: skip
    return [] if right else [
        ("find_wrong goes by complex_step, which is not right yet",
         lambda array: array.shape != exact.shape or not np.abs(array - steps).max() <= 1e-10 * np.abs(steps).max()),
    ]  # fmt: skip


def by_own_error(yours, array, exact, wrong):
    """Does the student's relative error, which has its own check, say otherwise of a candidate?"""
    try:
        fits = array.shape == exact.shape and np.isfinite(array).all()
        return bool(fits and wrong == (yours.relative_error(array, exact) <= 1e-10))
    except (NotWritten, Stopped, TypeError, ValueError):
        return False


def cause_of(verdicts, candidates, judges):
    """The one mistake that gives these verdicts; where several do, a guess."""
    with np.errstate(all="ignore"):
        fits = [says for says, judge in judges
                if [judgement(judge, array) for _, array, _ in candidates] == verdicts]  # fmt: skip
    fits = list(dict.fromkeys(fits))
    return fits[0] if len(fits) == 1 else f"perhaps: {'; or '.join(fits[:2])}" if fits else None


def judgement(judge, array):
    """None where it stops."""
    try:
        return bool(judge(array))
    except (TypeError, ValueError, IndexError):
        return None


def judges(f, x, exact):
    """(what is wrong with a judge, the judge: is this candidate called wrong?)"""
    largest, slopes = np.abs(exact).max() or 1.0, central(f, x)

    def off(array):
        return np.abs(array - exact)

    def error(array):
        return off(array).max() / largest

    yield "the shape is not asked for: differences to some other shapes can be taken (broadcasting)", (
        lambda array: not error(array) <= 1e-10)  # fmt: skip
    yield "the number of entries is asked for, where the shape is meant", (
        lambda array: array.size != exact.size or not error(array.reshape(exact.shape)) <= 1e-10)  # fmt: skip
    yield "the number of axes is asked for, where the shape is meant", (
        lambda array: array.ndim != exact.ndim or not error(array) <= 1e-10)  # fmt: skip
    yield "a nan is taken for 0", (
        lambda array: array.shape != exact.shape or not error(np.nan_to_num(array)) <= 1e-10)  # fmt: skip
    yield "every candidate is named", lambda array: True
    yield "no candidate is named", lambda array: False
    yield "what is right is named, where what is wrong is asked for", (
        lambda array: array.shape == exact.shape and error(array) <= 1e-10)  # fmt: skip
    ways = {
        "nan > 1e-10 is False, as every comparison with nan: ask for not error <= 1e-10":
            lambda array: error(array) > 1e-10,
        "what has a nan in it is not named": lambda array: not (np.isnan(array).any() or error(array) <= 1e-10),
        "what is infinite is not named": lambda array: not (np.isinf(array).any() or error(array) <= 1e-10),
        "the judge is a central difference, which keeps some six digits where f is near 10000":
            lambda array: not np.abs(array - slopes).max() <= 1e-10 * largest,
        "the error is not divided by the largest of expected": lambda array: not off(array).max() <= 1e-10,
        "the error is relative to the candidate, not to what is right":
            lambda array: not off(array).max() <= 1e-10 * np.abs(array).max(),
        "each entry is divided by its own size, not by the largest":
            lambda array: not (off(array) / np.abs(exact)).max() <= 1e-10,
        "the sign of the difference is kept: take absolute values":
            lambda array: not (array - exact).max() / largest <= 1e-10,
        "a mean of the errors is taken, where the largest is meant":
            lambda array: not off(array).mean() <= 1e-10 * largest,
        "this is what np.allclose says, whose limits are looser": lambda array: not np.allclose(array, exact),
        "what is right is taken in the candidate's own dtype, which keeps fewer digits":
            lambda array: not np.abs(array - exact.astype(array.dtype)).max() <= 1e-10 * largest,
        "only the first entry is looked at": lambda array: not off(array).flat[0] <= 1e-10 * largest,
        "only the last entry is looked at": lambda array: not off(array).flat[-1] <= 1e-10 * largest,
    }  # fmt: skip
    for power in (-4, -5, -6, -7, -8, -9, -9.5, -10.5, -11, -12, -12.5):
        says = f"the limit is {'looser' if power > -10 else 'stricter'} than 1e-10"
        yield says, lambda array, limit=10.0**power: array.shape != exact.shape or not error(array) <= limit
    for says, judge in ways.items():
        yield says, lambda array, judge=judge: array.shape != exact.shape or judge(array)


def central(f, x, h=1e-5):
    result = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        result[i] = (f(x + step) - f(x - step)) / (2 * h)
    return result


def near_the_limit(exact):
    """[(what it is, a candidate, is it wrong)]"""
    size, last = np.abs(exact).max(), np.unravel_index(np.abs(exact).argmin(), exact.shape)

    def off(by):
        """One entry, the smallest, off by so much of the largest."""
        moved = exact.copy()
        moved[last] += by * size
        return moved

    return [
        ("the gradient itself", exact, False),
        ("the gradient with its last digits rounded", exact * (1 + 1e-13), False),
        ("off by 8e-11 of the largest in one entry", off(8e-11), False),
        ("off by 8e-11 of the largest in every entry", exact + 8e-11 * size, False),
        ("off by 1.3e-10 of the largest in one entry", off(1.3e-10), True),
        ("off by 1e-8 in one entry", off(1e-8), True),
        ("off by -1e-8 in one entry", off(-1e-8), True),
        ("of the wrong sign", -exact, True),
        ("twice as large", 2 * exact, True),
        ("zero everywhere", np.zeros(exact.shape), True),
        ("rounded to float32", exact.astype(np.float32), True),
    ]


def not_numbers(exact):
    filled = []
    for what, number in (("a nan", np.nan), ("inf", np.inf), ("-inf", -np.inf)):
        for place, where in (("first", 0), ("second", 1), ("last", -1)):
            array = exact.copy()
            array.flat[where] = number
            filled.append((f"with {what} in its {place} entry", array, True))
    return filled


def of_other_shapes(exact):
    """Many of them can be subtracted from exact."""
    others = (exact[None], exact[:1], exact[:, :1], exact[0], exact[:, None], exact[0, 0])
    others += (exact[..., None], exact.T, exact.ravel(), exact[:, :1, None], exact.reshape(exact.shape[::-1]))
    others += (np.where(exact == exact.max(), np.nan, exact)[None],)
    return [(f"of shape {np.shape(array)}", np.array(array), True) for array in others
            if np.shape(array) != exact.shape]  # fmt: skip


def mixed(draw):
    """What find_wrong is given: f, candidates right, wrong and with holes, x"""
    given, _, x, exact = point(draw)
    arrays = [exact, exact + x, *(array for _, array, _ in not_numbers(exact)[::2])]
    return given, {f"d{i}": array for i, array in enumerate(arrays)}, x
