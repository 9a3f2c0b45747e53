"""Short trainings of which nothing is kept, for questions that a few steps can answer.

find_rate: what learning rate? Try them all, from far too small to far too large, within one short training.

    batch t is followed by a step of rate  r_t = low (high / low)^(t / (T - 1))        low, high = 1e-6, 1

The loss stays, falls, and at last rises. At the rate with the lowest loss, a step spoils as much as it mends; a
training spends thousands of steps near its peak rate, and must not be at that edge. A tenth of that rate is suggested.

Losses of single batches jump, so they are averaged over half a decade of rates (T / 12 batches), and each average
belongs to the middle of its rates. A last average of four times the best ends the search: unlucky batches do not do
that, and no rate beyond could be the lowest.

On two thousand of the demo's stories, for seeds 0, 1, 2, the rule gives 0.0025, 0.0012, 0.0016 for AdamW, where 0.003
is known to train well; 0.0057, 0.0057, 0.0043 for LAMB, where 0.003 and 0.004 do and 0.02 is too much. It is good
to a factor of three and no more: the valley's floor is broad, the place of its lowest point partly luck, and more
trials find lower rates, because more has been learnt by then (40 trials: twice these, 200: about a quarter less).

overfit: can it learn one batch by heart? The first question to a model, a corpus and settings that shall learn
anything. One batch again and again: no model with a right gradient fails at that, and hardly a wrong one succeeds.
Learnt is a loss below a twentieth of the first. At the demo's size, with every default, that takes about a hundred
steps. The peak rate of a long run may be far too small for so few steps (LAMB's √batch rule is), so that without a
rate in the settings the test takes its own: 0.01 with LAMB, whose steps grow with the weights, and 0.2 / H with AdamW,
whose steps do not, and of which H at once move a sum over a layer's H inputs. 0.003 at H = 64.
"""

import math
import time
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..arguments import of_kind, whole
from ..backend import DropoutKey
from ..errors import ConfigError
from ..optim import Schedule
from ..parallel import ALONE, Workers, blas_threads
from .assemble import observer_of, step_of, with_own_code
from .begin import fresh_state
from .pretraining import Pretraining
from .settings import Settings
from .together import form_groups
from .watch import Verdict, without_numpy_warnings

LOW, HIGH = 1e-6, 1.0
MOST_TRIALS = 10**6
WINDOWS = 12                                         # in all trials: of half a decade each
TOO_HIGH = 4                                         # times the best loss
MARGIN = 10                                          # between the rate of the lowest loss and the peak rate
FEWEST_RATES = 36                                    # three batches to an average
LEARNT = 1 / 20                                      # of the first loss
FEWEST_STEPS = 20
SPREADS = 0.002, 0.2                                 # of initial weights, that are not far from 0.02


@contextmanager
def open_trial(settings, trials, corpus=None, held_out=None, observer=None, own_code=None):
    """A Trial with everything as in a run, but for the rate: each step is given its own."""
    of_kind("settings", settings, Settings)
    settings, observer = with_own_code(settings, own_code), observer_of(observer)
    form_groups(settings, ALONE)
    job = Pretraining(settings, corpus=corpus, held_out=held_out)
    state = fresh_state(job, own_code)
    observer.begin(0, trials)
    try:
        with (blas_threads(1), without_numpy_warnings(),
              Workers(state.model, settings.training.workers) as workers):
            step = step_of(job, workers, state, own_code)
            yield Trial(state, job.batches, step, settings.training.seed, observer)
    finally:
        observer.close()


class Trial:
    def __init__(self, state, batches, gradient_step, seed, observer):
        """Arguments as a Trainer's."""
        self.state, self.gradient_step, self.seed, self.observer = state, gradient_step, seed, observer
        self.batches = batches(0)

    def step(self, slices, rate):
        """Make a step, if all is finite. The batch's losses before it, by the names of metrics.jsonl."""
        state, begin = self.state, time.perf_counter()
        found = self.gradient_step(state, slices, DropoutKey(self.seed, state.batch_index), rate, refuse_nonfinite)
        losses, state.batch_index = found.losses, state.batch_index + 1
        if not found.verdict.refused:
            state.step += 1
        elif found.verdict.event != "overflow":
            losses["loss"] = math.nan
        tokens = sum(float(one.attention_mask.sum()) for one in slices)
        self.observer.step(state.batch_index, losses, tokens / (time.perf_counter() - begin))
        return losses


def refuse_nonfinite(loss, norm):
    return Verdict(not (math.isfinite(loss) and math.isfinite(norm)))


class RateSearch(NamedTuple):
    rates: np.ndarray                                # (n,) of the trials before it ended
    losses: np.ndarray                               # (n,)
    middles: np.ndarray                              # (m,) of the rates averaged over, ascending
    means: np.ndarray                                # (m,) of their losses
    lowest: int                                      # place among these m
    suggestion: float | None                         # None if nothing was learnt
    ended: str


def find_rate(settings, trials=100, corpus=None, held_out=None, observer=None, own_code=None):
    """Search for the peak rate of a training. Returns a RateSearch."""
    trials = whole("trials", trials, FEWEST_RATES, MOST_TRIALS, ConfigError)
    rates, losses = np.geomspace(LOW, HIGH, trials), []
    window, ended = round(trials / WINDOWS), f"the rate reached {HIGH:g}"
    with open_trial(settings, trials, corpus, held_out, observer, own_code) as trial:
        for rate, batch in zip(rates, trial.batches, strict=False):
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
        raise ConfigError(f"{ended}: no rate can be learnt from, not the lowest; look at the initial weights")
    lowest, noise = int(means.argmin()), np.std(np.diff(losses[: 2 * window])) / math.sqrt(window)
    learnt = means[0] - means[lowest] > 3 * noise
    suggestion = float(f"{middles[lowest] / MARGIN:.2g}") if learnt else None
    return RateSearch(rates, losses, middles, means, lowest, suggestion, ended)


def averages(values, window):
    """(n,) -> (n - window + 1,): of each `window` neighbours."""
    sums = np.cumsum([0.0, *values])
    return (sums[window:] - sums[:-window]) / window


class OverfitResult(NamedTuple):
    learnt: bool
    rate: float                                      # after a tenth of the trials, in which it rises
    losses: list                                     # of each trial, before its step: {"loss", "mlm_loss", "sop_loss"}
    advice: str | None                               # the first thing to look at, if it was not learnt


def overfit(settings, trials=300, corpus=None, held_out=None, observer=None, own_code=None):
    """Train on one batch again and again, until it is known by heart. Returns an OverfitResult."""
    trials = whole("trials", trials, FEWEST_STEPS, MOST_TRIALS, ConfigError)
    of_kind("settings", settings, Settings)
    rate, losses = own_rate(settings.optimiser, settings.model.hidden_size), []
    schedule = Schedule(rate, trials, trials // 10, "constant")
    with open_trial(settings, trials, corpus, held_out, observer, own_code) as trial:
        batch = next(trial.batches)
        while len(losses) < trials:
            losses.append(trial.step(batch, schedule.rate(len(losses))))
            loss = losses[-1]["loss"]
            if not math.isfinite(loss) or loss < LEARNT * losses[0]["loss"]:
                break
    learnt = losses[-1]["loss"] < LEARNT * losses[0]["loss"]
    advice = None if learnt else first_thing([each["loss"] for each in losses], settings.model, rate)
    return OverfitResult(learnt, rate, losses, advice)


def own_rate(optimiser, hidden_size):
    """The rate that was given, or one for few steps. optimiser: the settings' section."""
    if optimiser.rate is not None:
        return optimiser.rate
    return 0.01 if optimiser.optimiser == "lamb" else float(f"{0.2 / hidden_size:.1g}")


def first_thing(losses, config, rate):
    """Why was it not learnt? The likeliest reason, by the curve's shape."""
    low, high = SPREADS
    if not math.isfinite(losses[-1]):
        return f"the rate: the loss was no longer finite at trial {len(losses)}; try --rate {rate / 10:g}"
    if not low <= config.initializer_range <= high:
        return f"the spread of the initial weights: initializer_range is {config.initializer_range:g}, usual is 0.02"
    fifth = len(losses) // 5
    before, last = np.mean(losses[-2 * fifth : -fifth]), np.mean(losses[-fifth:])
    rose = max(losses) > 1.05 * losses[0]
    if last > 0.95 * losses[0] and not rose:
        return f"the rate: the loss hardly moved; try --rate {10 * rate:g}"
    if config.hidden_dropout_prob or config.attention_probs_dropout_prob:
        return ("dropout, which is there to keep a model from learning by heart: "
                "--hidden-dropout-prob 0 --attention-probs-dropout-prob 0")
    if before - last > 0.005 * losses[0] and not rose:
        return f"the rate, or patience: the loss was falling to the end; try --rate {3 * rate:g}, or more --trials"
    what = "rose" if rose else "does not move"
    return f"the rate: the loss {what}; try --rate {rate / 10:g}, and if that does not help `minalbert gradcheck`"
