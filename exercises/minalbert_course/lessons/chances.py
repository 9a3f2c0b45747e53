"""How often something happens, where every right answer draws in its own way.

A count is wrong only where Chernoff's bound, P ≤ 2 exp(-n KL(seen ‖ p)), falls below 2 exp(-30) = 2e-13: with some
thousand counts in six draws, a right answer fails the whole exercise by chance less than once in 1e9 times.
"""

import math
from itertools import pairwise

import numpy as np

from ..compare import Wrong
from ..given import Given

RARE = 30.0
OFF = 0.05                                           # a chance that is off by so much is found ...
CLEAR = 6.0                                          # ... but once in exp(6) times
MOST = 20000                                         # tosses


def rng(draw):
    """Another generator at each call."""
    return Given.of("rng", int(draw.integers(0, 2**31)))


def likely(count, n, p):
    """Is `count` of n what chance gives for probability p?"""
    seen = count / n
    pairs = ((seen, p), (1 - seen, 1 - p))
    return n * sum(a * math.log(a / b) if b else math.inf for a, b in pairs if a) <= RARE


def share(what, count, n, p, cause=None):
    """Raise Wrong where `count` of n is no chance result for probability p."""
    if n and not likely(count, n, p):
        raise Wrong(f"{what}: {count} of {n}, a share of {count / n:.3g}; it should be near {p:.3g}", cause)


def shares(what, counts, chances, known, cause=None):
    """`share` of each name, and the cause from `known`, {says: chances}, where those fit all counts."""
    n = sum(counts.values())
    for says, others in known.items():
        if all(likely(counts[name], n, p) for name, p in zip(counts, others, strict=True)):
            cause = says
    for name, p in zip(counts, chances, strict=True):
        share(what.format(name), counts[name], n, p, cause)


def half(what, toss, causes=("", "")):
    """Raise Wrong where toss(), 0 or 1, is not fair; a list of all tosses where it is.

    Wald's sequential test of 1/2 against 1/2 ± OFF. Of right answers less than one in 1e13 is refused, after some 1700
    tosses; a chance of 0.45 is refused after some 6000.     causes: of never, of always
    """
    ones, tosses, up, down = 0, [], math.log(1 + 2 * OFF), math.log(1 - 2 * OFF)
    while len(tosses) < MOST:
        tosses.append(int(toss()))
        ones += tosses[-1]
        zeros = len(tosses) - ones
        evidence = max(ones * up + zeros * down, ones * down + zeros * up)
        if evidence > RARE:
            n = len(tosses)
            raise Wrong(f"{what}: {ones} of {n}, a share of {ones / n:.3g}; it should be near 0.5",
                        {0: causes[0], n: causes[1]}.get(ones))  # fmt: skip
        if evidence < -CLEAR:
            break
    same = sum(a == b for a, b in pairwise(tosses))
    share(f"{what}: like the draw before", same, len(tosses) - 1, 1 / 2, "seen: a draw depends on the one before it")
    return tosses


def repeats(name, call, draw):
    """Raise Wrong unless the same seed gives the same answer, and others give others. call(rng) -> anything"""
    given = rng(draw)
    answer = plain(call(given))
    if answer != plain(call(given)):
        raise Wrong(f"{name}: two generators of one seed gave two answers",
                    "something else than rng is drawn from: np.random, random, or a generator of your own", name)
    if all(plain(call(rng(draw))) == answer for _ in range(24)):
        raise Wrong(f"{name}: 25 generators gave the same answer", "nothing is drawn from rng", name)


def plain(value):
    """As lists and words, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, list | tuple) else repr(value)
