"""Compare a count with the right one, and explain a difference."""

import numpy as np

from ...compare import Wrong, is_number, shown

KEPT = "this was the answer to another call: is something kept from call to call, or one argument not looked at?"
ELSEWHERE = (
    "perhaps: other sizes were right; what is special in these? A width that is larger than another, equal to it, one, "
    "or odd"
)


def whole(name, yours, expected, suspects, own=(), found=None):
    """Raise Wrong unless yours is that number.

    suspects   {mistake: the number it gives}
    own        numbers that follow from a mistake which has cost its points elsewhere
    found      a function of none that finds the mistake, or gives None
    """
    yours = counted(name, yours)
    if yours == expected or yours in own:
        return
    cause = next((says for says, number in suspects.items() if number == yours), None)
    cause = cause or held(yours, expected) or (found() if found else None)
    cause = cause or times(yours, expected) or near(yours, expected)
    off = (int(yours) if yours == int(yours) else yours) - expected              # exact, where yours is a float
    raise Wrong(f"{name}: yours {yours:,}   expected {expected:,}   off by {off:,}", cause)


def held(yours, expected):
    """What a type that cannot hold the number makes of it."""
    if isinstance(yours, int) and abs(expected) >= 2**31 and (yours - expected) % 2**32 == 0:
        return "an int32 is too small for it: it holds numbers below 2³¹"
    if abs(expected) > 2**53 and yours != expected and abs(yours - expected) < 1e-12 * abs(expected):
        return "perhaps: /, a 1.0 or float() makes a float, which holds 53 bits, and the count has more"
    if expected > 2**24 and abs(yours - expected) < 1e-6 * expected and float(np.float32(yours)) == yours:
        guess = "" if yours == float(np.float32(expected)) else "perhaps: "
        return f"{guess}float32 crept in: it holds 24 bits, and the count has more"
    return None


def times(yours, expected):
    for n in range(2, 65):
        if yours in (expected * n, -expected * n):
            return f"{'-' if yours < 0 else ''}{n} times what is expected"
        if yours and expected in (yours * n, -yours * n):
            return f"{'-' if yours < 0 else ''}1/{n} of what is expected"
    return "the sign is wrong" if yours == -expected else None


def near(yours, expected):
    if abs(yours - expected) == 1:
        return f"seen: one too {'many' if yours > expected else 'few'}"
    return None if yours == int(yours) else "seen: it is no whole number: is something divided?"


def whole_in_corner(name, yours, expected, suspects=None, before=()):
    """As `whole`, where other sizes were right. before: what was answered to other calls"""
    try:
        whole(name, yours, expected, {})
    except Wrong as error:
        known = next((says for says, number in (suspects or {}).items() if number == yours), None)
        known = known or (KEPT if yours in before else None)
        raise Wrong(error.seen, known or held(yours, expected) or ELSEWHERE) from None


def whole_in_turn(name, function, right, sizes, others=None):
    """Compare for sizes of which one after the other is another: no answer may be that of other sizes.

    others: in the place of each size; by default one larger
    """
    before = [right(*sizes)]
    for place, other in enumerate(others or [size + 1 for size in sizes]):
        asked = (*sizes[:place], other, *sizes[place + 1 :])
        answer = function(*asked)
        whole_in_corner(f"{name}{asked}", answer, right(*asked), before=before)
        before.append(answer)


def counted(name, yours):
    if not is_number(yours) or isinstance(yours, np.complexfloating | np.timedelta64) or not abs(yours) < 1e30:
        raise Wrong(f"{name} is {shown(yours) if is_small(yours) else 'far too large'}; it must be one whole number")
    return yours.item() if isinstance(yours, np.generic) else yours


def is_small(yours):
    return not isinstance(yours, int) or abs(yours) < 1e30
