"""How often something happens, where every right answer draws in its own way.

A count is wrong only where Chernoff's bound, P ≤ 2 exp(-n KL(seen ‖ p)), falls below 2 exp(-30) = 2e-13: with some
thousand counts in two draws, a right answer fails the whole exercise by chance less than once in 1e9 times.
"""

import math
from itertools import pairwise

import numpy as np

from ...compare import Wrong
from ...given import Given

RARE = 30.0
OFF = 0.06                                           # a chance that is off by so much is found ...
CLEAR = 5.0                                          # ... but once in exp(5) times
MOST, AT_ONCE = 20000, 64                            # draws
FITS = 6.0                                           # surprise at which a known mistake still explains counts


def rng(draw):
    """Another generator at each call."""
    return rngs(draw, 1)[0]


def rngs(draw, count):
    """So many generators, each of a seed that is drawn for it."""
    return [Given.of("rng", seed) for seed in draw.integers(0, 2**31, count).tolist()]


def likely(count, n, p):
    """Is `count` of n what chance gives for probability p?"""
    return surprise(count / n, p, n) <= RARE


def surprise(seen, p, n):
    """n KL(seen ‖ p)"""
    pairs = ((seen, p), (1 - seen, 1 - p))
    return n * sum(a * math.log(a / b) if b > 0 else math.inf for a, b in pairs if a)


def share(what, count, n, p, cause=None):
    """Raise Wrong where `count` of n is no chance result for probability p."""
    if n and not likely(count, n, p):
        raise Wrong(f"{what}: {count} of {n}, a share of {count / n:.3g}; it should be near {p:.3g}", cause)


def shares(what, counts, chances, known, cause=None):
    """`share` of each name, and the cause from `known`, {says: chances}, that fits all counts best, if one does."""
    n = sum(counts.values())
    fits = {says: max(surprise(counts[name] / n, p, n) for name, p in zip(counts, others, strict=True))
            for says, others in known.items()}  # fmt: skip
    best = min(fits, key=fits.get, default=None)
    for name, p in zip(counts, chances, strict=True):
        share(what.format(name), counts[name], n, p, best if best and fits[best] <= FITS else cause)


def even(what, counts, cause=None):
    """Raise Wrong where these have not the same chance, all together: χ² above what Laurent and Massart allow."""
    n, k = sum(counts), len(counts)
    if k > 1 and n:
        found = sum((count - n / k) ** 2 for count in counts) * k / n
        most = k - 1 + 2 * math.sqrt((k - 1) * RARE) + 2 * RARE
        if found > most:
            raise Wrong(f"{what}: χ² is {found:.0f}; for equal chances it is near {k - 1}, and below {most:.0f}", cause)


def pairs_alike(what, rows, chance, cause, says="are alike"):
    """Raise Wrong where two draws of a row are alike more often, or less often, than independent ones are.

    rows: arrays of draws; chance: of two that are alike. Two draws are one to three places apart, or half a row, or one
    more, or as far from the beginning as from the end. No draw is in two pairs of one count.
    """
    counts = {}
    for row in rows:
        half, places = len(row) // 2, np.arange(len(row))
        ways = {}
        for lag in (1, 2, 3):
            firsts = places[: -lag][places[: -lag] // lag % 2 == 0]
            ways[f"{lag} apart"] = row[firsts] == row[firsts + lag]
        ways["1 apart, from the second on"] = row[1:-1:2] == row[2::2]
        ways["half of all apart"] = row[:half] == row[half : 2 * half]
        ways["half of all and one apart"] = row[: len(row) - half - 1] == row[half + 1 :]
        ways["as far from the ends"] = row[:half] == row[::-1][:half]
        for way, same in ways.items():
            alike, pairs = counts.get(way, (0, 0))
            counts[way] = alike + int(same.sum()), pairs + len(same)
    for way, (alike, pairs) in counts.items():
        share(f"{what}, {way}, {says}", alike, pairs, chance, cause)


def unrelated(what, pairs, cause):
    """Raise Wrong where the second of a pair depends on the first. pairs: [(anything, number)], each number as likely

    what: words with a place for the number and one for the first
    """
    numbers = sorted({number for _, number in pairs})
    for first in sorted({first for first, _ in pairs}):
        found = [number for other, number in pairs if other == first]
        for number in numbers:
            share(what.format(number, first), found.count(number), len(found), 1 / len(numbers), cause)


def sequential(events, chances, causes, other=lambda: None):
    """Raise Wrong where something has not the chance it should have; draw as often as it takes to know.

    events(n)  [the names of what happened in one draw], of so many draws
    chances    {name: probability}
    causes     {name: (where it never happens, where it always does)}; other(): a cause that comes before these

    Wald's test of p against p ± OFF. Of right answers less than one in 1e12 is refused; they take some 1500 draws. Of
    answers with 0.44 for 0.5 nearly all are refused, of those with 0.45 more than nine in ten, after some 6000 draws.
    """
    counts, n = dict.fromkeys(chances, 0), 0
    happened = []
    while n < MOST:
        happened += events(AT_ONCE)
        for name in (name for names in happened[-AT_ONCE:] for name in names if name in counts):
            counts[name] += 1
        n += AT_ONCE
        evidences = {name: evidence(counts[name], n, p) for name, p in chances.items()}
        worst = max(evidences, key=evidences.get)
        if evidences[worst] > RARE:
            never, always = causes[worst]
            cause = other() or {0: never, n: always}.get(counts[worst], never if never == always else None)
            raise Wrong(f"{worst}: {counts[worst]} of {n}, a share of {counts[worst] / n:.3g}; it should be near "
                        f"{chances[worst]:.3g}", cause)  # fmt: skip
        if evidences[worst] < -CLEAR:
            break
    for name, p in chances.items():
        same = sum((name in a) == (name in b) for a, b in pairwise(happened))
        share(f"{name}: like the draw before", same, n - 1, p * p + (1 - p) ** 2, DEPENDENT)


DEPENDENT = "seen: a draw depends on the one before it"


def evidence(count, n, p):
    """How much likelier the nearer one of p ± OFF is than p: a logarithm."""
    return max(count * math.log(other / p) + (n - count) * math.log((1 - other) / (1 - p))
               for other in (p + OFF, p - OFF))  # fmt: skip


def repeats(name, ask, draw, all_different=False):
    """Raise Wrong unless the same seed gives the same answer, others give others, and one generator does not repeat.

    ask(generators) -> the answer with each   all_different: are there so many answers that 25 of them are 25?
    """

    def answers(generators):
        return list(map(plain, ask(generators)))

    seeds = rngs(draw, 8)
    pairs = answers([seed for seed in seeds for _ in range(2)])
    if pairs[::2] != pairs[1::2]:
        raise Wrong(f"{name}: two generators of one seed gave two answers",
                    "something else than rng is drawn from: np.random, random, or a generator of your own", name)
    if all(answer == pairs[0] for answer in pairs) and all(
        answer == pairs[0] for answer in answers(rngs(draw, 17))
    ):
        raise Wrong(f"{name}: 25 generators gave the same answer", "nothing is drawn from rng", name)
    first, *others = answers([Given.of("one rng", int(draw.integers(0, 2**31)))] * 25)
    if all(other == first for other in others):
        cause = "the generator stays as it was: draw from `rng` itself, not from a copy, nor from another made of it"
        raise Wrong(f"{name}: one generator gave the same answer in 25 calls", cause, name)
    if all_different and (found := len({repr(answer) for answer in (first, *others)})) < 25:
        raise Wrong(f"{name}: one generator gave {found} different answers in 25 calls; it must be 25",
                    "what is drawn has few values, such as a seed below 100: then there are as few answers", name)


def plain(value):
    """As lists and words, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, list | tuple) else repr(value)
