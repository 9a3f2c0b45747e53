"""Means over seeds with their intervals, and verdicts.

The interval is Student's, of 95 %: mean ± t s / √n, with s from the n seeds. Where arms share seeds, a rule's number is
computed for each seed, so that what a seed does to all arms alike drops out: the interval is that of a paired test.
It assumes that a seed's numbers spread as a normal distribution does, which three to five of them cannot confirm.
"""

import math
import statistics
from typing import NamedTuple

SHOWS, OPPOSITE, NOTHING = "shows", "shows the opposite", "does not show"
HOLDS, FAILS = "holds", "does not hold"              # of counts
FEWEST = 3                                           # seeds of a verdict
# of Student's distribution with 1, 2, ... degrees of freedom, the quantile 0.975
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


class Interval(NamedTuple):
    mean: float
    half: float                                      # of its width
    seeds: int                                       # 0: counted, and exact

    low = property(lambda self: self.mean - self.half)
    high = property(lambda self: self.mean + self.half)
    ends = property(lambda self: (self.low, self.high))


class RuleVerdict(NamedTuple):
    says: str
    word: str                                        # one of those above, or why there is none
    interval: Interval | None


def interval_of(values):
    """The mean with its interval; a single run does not say how far another would lie, and has an infinite one."""
    values = list(values)
    if len(values) < 2:
        return Interval(values[0], math.inf, 1)
    t = T[min(len(values) - 1, len(T)) - 1]
    return Interval(statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values)), len(values))


def judge(rule, scores):
    """scores: {seed: {arm: {measure: number}}}; seeds without all of the rule's arms are left out."""
    values = []
    for arms in scores.values():
        try:
            values.append(rule.value(arms))
        except KeyError:
            continue
    if len(values) < FEWEST:
        return RuleVerdict(rule.says, f"too few seeds ({len(values)} of {FEWEST})", None)
    found = interval_of(values)
    return RuleVerdict(rule.says, SHOWS if found.low > 0 else OPPOSITE if found.high < 0 else NOTHING, found)


def judge_exact(rule, arms):
    """The verdict of a rule about counts."""
    value = rule.value(arms)
    return RuleVerdict(rule.says, HOLDS if value > 0 else FAILS, Interval(value, 0.0, 0))
