"""What learning rate? Try them all, from far too small to far too large, within one short training.

    batch t is followed by a step of rate  r_t = low (high / low)^(t / (T - 1))        low, high = 1e-6, 1

The loss stands still, falls, and at last rises. Where it is lowest, a step spoils as much as it mends; a training
spends thousands of steps near its peak rate, and must not stand at that edge. A tenth of that rate is suggested.

Losses of single batches jump, so they are averaged over half a decade of rates (T / 12 batches), and each average
belongs to the middle of its rates. A last average of four times the best ends the search: unlucky batches do not do
that, and no rate beyond could be the lowest.

On two thousand of the demo's stories, for seeds 0, 1, 2, the rule gives 0.0025, 0.0012, 0.0016 for AdamW, where 0.003
is known to train well, and 0.0057, 0.0057, 0.0043 for LAMB, where 0.003 and 0.004 do and 0.02 is too much. It is good
to a factor of three and no more: the valley's floor is broad, the place of its lowest point partly luck, and more
trials find lower rates, for more has been learnt by then (40 trials: twice these, 200: about a quarter less).
"""

import math
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError
from .trial import Trial

LOW, HIGH = 1e-6, 1.0
WINDOWS = 12                                         # in all trials: of half a decade each
TOO_HIGH = 4                                         # times the best loss
MARGIN = 10                                          # between the rate of the lowest loss and the peak rate
FEWEST = 36                                          # three batches to an average


class Found(NamedTuple):
    rates: np.ndarray                                # (n,) of the trials before it ended
    losses: np.ndarray                               # (n,)
    middles: np.ndarray                              # (m,) of the rates averaged over, ascending
    means: np.ndarray                                # (m,) of their losses
    lowest: int                                      # place among these m
    suggestion: float | None                         # None where nothing was learnt
    ended: str


def find_rate(settings, trials=100, corpus=None, held_out=None, quiet=False):
    if trials < FEWEST:
        raise ConfigError(f"trials is {trials}; it must be at least {FEWEST}")
    rates, losses = np.geomspace(LOW, HIGH, trials), []
    window, ended = round(trials / WINDOWS), f"the rate reached {HIGH:g}"
    with Trial(settings, trials, corpus, held_out, quiet) as trial:
        for rate, batch in zip(rates, trial.batches(), strict=False):
            loss = trial.step(batch, rate)["loss"]
            if not math.isfinite(loss):
                ended = f"at rate {rate:.2g} the loss was no longer finite"
                break
            losses.append(loss)
            means = averages(losses, window)
            if means.size and means[-1] > TOO_HIGH * means.min():
                ended = f"at rate {rate:.2g} the loss was {TOO_HIGH} times the lowest"
                break
    return judged(rates[: len(losses)], np.array(losses), window, ended)


def judged(rates, losses, window, ended):
    means, middles = averages(losses, window), np.exp(averages(np.log(rates), window))
    if not means.size:
        raise ConfigError(f"{ended}: no rate can be learnt from, not the lowest; look at the weights it begins with")
    lowest, noise = int(means.argmin()), np.std(np.diff(losses[: 2 * window])) / math.sqrt(window)
    learnt = means[0] - means[lowest] > 3 * noise
    suggestion = float(f"{middles[lowest] / MARGIN:.2g}") if learnt else None
    return Found(rates, losses, middles, means, lowest, suggestion, ended)


def averages(values, window):
    """(n,) -> (n - window + 1,): of each `window` neighbours."""
    sums = np.cumsum([0.0, *values])
    return (sums[window:] - sums[:-window]) / window
