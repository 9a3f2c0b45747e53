"""What a wrong count counts: its terms, found by asking it for many sizes."""

import itertools
from fractions import Fraction

import numpy as np

from ...compare import Wrong, is_number
from ...values import NotWritten, Stopped

MOST = 8                                             # terms that a cause speaks of
FEW = range(2, 12)                                   # sizes for which one after the other is asked


def miscounted(yours, right, letters, sizes, degree=4):
    """In words: what is used in the place of a size, or which terms have other factors; or None.

    yours, right   functions of the sizes, right being a sum of products of them
    """
    n = len(letters)
    exchanged, shifted = dict(exchanges(letters)), dict(shifts(letters)) | dict(constants(letters))
    points = sizes, tuple(size + 3 + 2 * i for i, size in enumerate(sizes)), tuple(7 + 5 * i for i in range(n))
    try:
        return (misplaced(yours, right, exchanged, points) or other_terms(yours, right, letters, degree)
                or misplaced(yours, right, shifted, points) or grows_otherwise(yours, right, letters)
                or right_elsewhere(yours, right, letters))  # fmt: skip
    except (NotWritten, Stopped, Wrong, TypeError, ValueError, ArithmeticError):
        return None


def misplaced(yours, right, ways, points):
    """Is it right for other sizes than it was asked for?"""
    answers = [yours(*point) for point in points]
    fits = (says for says, way in ways.items() if [right(*way(point)) for point in points] == answers)
    return next(fits, None)


def exchanges(letters):
    for i, j in itertools.permutations(range(len(letters)), 2):
        places = list(range(len(letters)))
        places[i] = j
        says = f"{letters[j]} is used where {letters[i]} is meant"
        yield says, lambda sizes, places=tuple(places): picked(sizes, places)
        places[j] = i
        yield f"{letters[i]} and {letters[j]} are exchanged", lambda sizes, places=tuple(places): picked(sizes, places)


def picked(sizes, places):
    return [sizes[place] for place in places]


def shifts(letters):
    for i, step in itertools.product(range(len(letters)), (1, -1)):
        says = f"{letters[i]} {'+' if step > 0 else '-'} 1 is used where {letters[i]} is meant"
        yield says, lambda sizes, i=i, step=step: [size + step * (j == i) for j, size in enumerate(sizes)]


def constants(letters):
    for i, constant in itertools.product(range(len(letters)), (0, 1, 2, 3, 4, 8, 10, 12, 64, 512)):
        says = f"{letters[i]} is used as if it were {constant}"
        yield says, lambda sizes, i=i, c=constant: [c if j == i else size for j, size in enumerate(sizes)]


def other_terms(yours, right, letters, degree):
    """Which terms does it add up, and how often?"""
    exponents = [powers for powers in itertools.product(range(4), repeat=len(letters)) if sum(powers) <= degree]
    rng = np.random.default_rng(7)
    points = [tuple(int(size) for size in rng.permutation(np.arange(2, 2 + 3 * len(letters)))[: len(letters)])
              for _ in range(len(exponents) + 20)]  # fmt: skip
    answers = [[function(*point) for point in points] for function in (yours, right)]
    if not all(map(is_number, answers[0])):
        return None
    matrix = np.array([[np.prod(np.array(point, float) ** powers) for powers in exponents] for point in points])
    scale = np.abs(matrix).max(axis=0)
    found = [np.linalg.lstsq(matrix / scale, np.array(answer, float), rcond=None)[0] / scale for answer in answers]
    if not np.allclose(matrix @ found[0], answers[0], rtol=1e-9, atol=1e-6):
        return None
    terms = [" ".join(letter for letter, power in zip(letters, powers, strict=True) for _ in range(power)) or "1"
             for powers in exponents]  # fmt: skip
    differences = [f"{term}: {times(mine)}, where {times(wanted)} is meant"
                   for term, mine, wanted in zip(terms, *found, strict=True) if abs(mine - wanted) > 1e-5]  # fmt: skip
    return "counted so often are " + "; ".join(differences) if 0 < len(differences) <= MOST else None


def grows_otherwise(yours, right, letters):
    """A size by which something is divided, or of which a higher or a lower power comes in."""
    for i, letter in enumerate(letters):
        points = [tuple(n if j == i else 5 + 2 * j for j in range(len(letters))) for n in FEW]
        mine, wanted = (np.array([Fraction(function(*point)) for point in points]) for function in (yours, right))
        if not mine.any():                           # such sizes are rounded to nothing
            continue
        if degree_of(mine) is None and degree_of(mine * np.array(FEW)) is not None:
            return f"something is divided by {letter}, and nothing is in the right count"
        if degree_of(mine) is not None and degree_of(mine) != degree_of(wanted):
            return f"it grows as {power(letter, mine)}; the right count grows as {power(letter, wanted)}"
    return None


def degree_of(counts):
    """The degree of the polynomial with these values at FEW, or None: with a high degree it is no polynomial."""
    for degree in range(len(counts) - 2):
        if all(abs(left) <= 1e-10 * max(map(abs, counts)) for left in np.diff(counts, n=degree + 1)):
            return degree
    return None


def power(letter, counts):
    degree = degree_of(counts)
    return f"{letter}^{degree} does" if degree > 1 else f"{letter} does" if degree else f"if there were no {letter}"


def right_elsewhere(yours, right, letters):
    small = [tuple(first + i for i in range(len(letters))) for first in (1, 2)]
    if all(yours(*point) == right(*point) for point in small):
        return "small sizes are counted rightly: there is a case of its own for some, or numbers are rounded"
    return None


def times(factor):
    return f"{round(float(factor), 5) + 0.0:g} times"


def quotients(V, H):
    """What expressions near (V H - 1) // (V + H) give: {expression: number}"""
    sizes, ways = {"V": V, "H": H}, {}
    tops = {f"{a} {b}": sizes[a] * sizes[b] for a, b in ("VH", "VV", "HH")} | {"V + H": V + H, "V": V, "H": H}
    below = {"(V + H)": V + H, "(V - H)": V - H, "(V H)": V * H, "(V V)": V * V, "(H H)": H * H, "(2 V)": 2 * V,
             "(2 H)": 2 * H, "V": V, "H": H}  # fmt: skip
    for (top, number), (bottom, divisor), more in itertools.product(tops.items(), below.items(), (-2, -1, 0, 1, 2)):
        if divisor:
            ways[f"this is ({top} {more:+d}) // {bottom}"] = (number + more) // divisor
            ways[f"this is ({top} {more:+d}) / {bottom}, not rounded down"] = (number + more) / divisor
            ways[f"this is ({top}) // {bottom} {more:+d}"] = number // divisor + more
            ways[f"this is -({top} {more:+d}) // {bottom}"] = -(number + more) // divisor
    return ways
