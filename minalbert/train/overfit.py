"""Can it learn one batch by heart? The first question to a model, a corpus and settings that shall learn anything.

One batch again and again: no model with a right gradient fails at that, and hardly a wrong one succeeds. Learnt is a
loss below a twentieth of the first. At the demo's size, with every default, that takes about a hundred steps.

The peak rate of a long run may be far too small for so few steps (LAMB's √batch rule is), so that without a rate in
the settings the test takes its own: 0.01 with LAMB, whose steps grow with the weights, and 0.2 / H with AdamW,
whose steps do not, and of which H at once move a sum over a layer's H inputs. 0.003 at H = 64.
"""

import math
from typing import NamedTuple

import numpy as np

from ..errors import ConfigError
from ..optim import Schedule
from .trial import Trial

LEARNT = 1 / 20                                      # of the first loss
FEWEST = 20
SPREADS = 0.002, 0.2                                 # of initial weights, that are not far from 0.02


class Outcome(NamedTuple):
    learnt: bool
    rate: float                                      # after a tenth of the trials, in which it rises
    losses: list                                     # of each trial, before its step: {"loss", "mlm_loss", "sop_loss"}
    advice: str | None                               # the first thing to look at, where it was not learnt


def overfit(settings, trials=300, corpus=None, held_out=None, quiet=False):
    if trials < FEWEST:
        raise ConfigError(f"trials is {trials}; it must be at least {FEWEST}")
    rate, losses = own_rate(settings), []
    schedule = Schedule(rate, trials, trials // 10, "constant")
    with Trial(settings, trials, corpus, held_out, quiet) as trial:
        batch = next(trial.batches())
        while len(losses) < trials:
            losses.append(trial.step(batch, schedule.rate(len(losses))))
            loss = losses[-1]["loss"]
            if not math.isfinite(loss) or loss < LEARNT * losses[0]["loss"]:
                break
    learnt = losses[-1]["loss"] < LEARNT * losses[0]["loss"]
    advice = None if learnt else first_thing([each["loss"] for each in losses], settings, rate)
    return Outcome(learnt, rate, losses, advice)


def own_rate(settings):
    if settings.optimiser.rate is not None:
        return settings.optimiser.rate
    return 0.01 if settings.optimiser.optimiser == "lamb" else float(f"{0.2 / settings.model.hidden_size:.1g}")


def first_thing(losses, settings, rate):
    """Why was it not learnt? The likeliest reason, by the curve's shape."""
    model, (low, high) = settings.model, SPREADS
    if not math.isfinite(losses[-1]):
        return f"the rate: the loss was no longer finite at trial {len(losses)}; try --rate {rate / 10:g}"
    if not low <= model.initializer_range <= high:
        return f"the spread of the first weights: initializer_range is {model.initializer_range:g}, usual is 0.02"
    fifth = len(losses) // 5
    before, last = np.mean(losses[-2 * fifth : -fifth]), np.mean(losses[-fifth:])
    rose = max(losses) > 1.05 * losses[0]
    if last > 0.95 * losses[0] and not rose:
        return f"the rate: the loss hardly moved; try --rate {10 * rate:g}"
    if model.hidden_dropout_prob or model.attention_probs_dropout_prob:
        return ("dropout, which is there to keep a model from learning by heart: "
                "--hidden-dropout-prob 0 --attention-probs-dropout-prob 0")  # fmt: skip
    if before - last > 0.005 * losses[0] and not rose:
        return f"the rate, or patience: the loss was falling to the end; try --rate {3 * rate:g}, or more --trials"
    what = "rose" if rose else "is stuck"
    return f"the rate: the loss {what}; try --rate {rate / 10:g}, and if that does not help `minalbert gradcheck`"
