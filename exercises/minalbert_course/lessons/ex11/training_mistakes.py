"""Exercise 11's sums over slices, and what known mistakes make of them, of rates and of the plateau."""

import numpy as np

from minalbert.model.pretraining import Totals
from minalbert.optim import Schedule


def rate_of(step, steps, warmup, peak):
    return Schedule(peak, steps, warmup).rate(step)


# Rates: says -> the rate of a step

BELOW = "after the last step the rate falls below 0; from step = steps on it is 0"
RATES = {
    BELOW: lambda step, steps, warmup, peak: peak * (step / warmup if step < warmup else 1 - step / steps),
    "the rate of the next step: steps count from 0, the first one's rate is 0":
        lambda step, *plan: rate_of(step + 1, *plan),
    "the rate of the step before: steps count from 0": lambda step, *plan: rate_of(max(step - 1, 0), *plan),
    "while the rate rises it is that of the next step; the first one's rate is 0":
        lambda step, steps, warmup, peak: rate_of(step, steps, warmup, peak) + (peak / warmup if step < warmup else 0),
    "while the rate falls it is that of the next step":
        lambda step, steps, warmup, peak: rate_of(step + (step >= warmup), steps, warmup, peak),
    "the rise goes on at step = warmup, where the fall begins": lambda step, steps, warmup, peak:
        peak * step / warmup if warmup and step <= warmup else rate_of(step, steps, warmup, peak),
    "the fall is counted from the end of the warm-up; ALBERT's counts from step 0, so the rate drops where "
    "the warm-up ends": lambda step, steps, warmup, peak:
        peak * step / warmup if step < warmup else peak * max(0, steps - step) / max(steps - warmup, 1),
    "the fall is left out: the rate stays at its peak":
        lambda step, steps, warmup, peak: peak * min(1, step / warmup) if warmup else peak,
    "there is no warm-up: the fall alone": lambda step, steps, warmup, peak: peak * max(0.0, 1 - step / steps),
    "there is no warm-up, and the rate falls below 0 at the end":
        lambda step, steps, warmup, peak: peak * (1 - step / steps),
    "the rise is multiplied by the fall; while step < warmup there is the rise alone": lambda step, steps, warmup, peak:
        peak * min(1, step / warmup if warmup else 1) * max(0, 1 - step / steps),
    "the smaller of rise and fall is taken, also where step < warmup": lambda step, steps, warmup, peak:
        peak * min(step / warmup if warmup else 1, max(0, 1 - step / steps)),
    "after the last step it begins again; from then on the rate is 0": lambda step, steps, warmup, peak:
        rate_of(step % steps, steps, warmup, peak),
    "after the last step it begins again; from step = steps on the rate is 0": lambda step, steps, warmup, peak:
        rate_of(step % steps if step > steps else step, steps, warmup, peak),
    "rise and fall are told apart the wrong way round":
        lambda step, steps, warmup, peak: peak * (step / warmup if step >= warmup else max(0, 1 - step / steps)),
    "the rise alone, without an end": lambda step, steps, warmup, peak: peak * step / warmup if warmup else peak,
    "the rise is divided by steps, not by warmup":
        lambda step, steps, warmup, peak: peak * (step / steps if step < warmup else max(0, 1 - step / steps)),
    "the fall is divided by warmup, not by steps":
        lambda step, steps, warmup, peak: peak * (step / warmup if step < warmup else 1 - step / warmup),
    "the fall ends at the last step, not after it": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else max(0, 1 - step / (steps - 1))),
    "the rise ends at warmup - 1": lambda step, steps, warmup, peak:
        peak * step / (warmup - 1) if step < warmup else rate_of(step, steps, warmup, peak),
    "`//` cuts the rise to whole numbers": lambda step, steps, warmup, peak:
        peak * (step // warmup if step < warmup else max(0, 1 - step / steps)),
    "`//` cuts the fall to whole numbers": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else max(0, 1 - step // steps)),
    "the fall is a cosine": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else (1 + np.cos(np.pi * min(1, step / steps))) / 2),
    "the fall goes up: 1 + step / steps": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else 1 + step / steps),
    "the fall is step / steps; it is 1 - step / steps": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else step / steps),
    "the fall does not stop at 0, but is made positive": lambda step, steps, warmup, peak:
        peak * (step / warmup if step < warmup else abs(1 - step / steps)),
    "the peak is left out": lambda step, steps, warmup, peak: rate_of(step, steps, warmup, 1.0),
    "the peak is left out of the rise": lambda step, steps, warmup, peak:
        step / warmup if step < warmup else rate_of(step, steps, warmup, peak),
    "the peak is left out of the fall": lambda step, steps, warmup, peak:
        rate_of(step, steps, warmup, peak if step < warmup else 1.0),
    "the rise is upside down: warmup / step": lambda step, steps, warmup, peak:
        peak * (warmup / step if step < warmup else max(0, 1 - step / steps)),
    "the sign is wrong": lambda *asked: -rate_of(*asked),
    "one is added": lambda *asked: rate_of(*asked) + 1,
}  # fmt: skip


def rate_mistakes(yours, steps, warmup, peak):
    """Those that agree with yours at every step of this plan, of one without a warm-up, and of a short one."""
    plans = (steps, warmup, peak), (steps, 0, peak), (9, 3, 0.01)
    asked = [(step, *plan) for plan in plans for step in places(plan[0], plan[1])]
    return explaining(yours, asked, RATES, rate_of)


def places(steps, *marks):
    """All steps of a short plan; of a long one some hundred, and those around its marks."""
    around = {mark + i for mark in (1, *marks, steps) for i in (-1, 0, 1)}
    return sorted({*range(0, steps + 1, max(1, steps // 100)), *around, steps + 3} - {-1})


def explaining(yours, asked, ways, right):
    """{mistake: what yours gives in a place where it shows} of the ways that explain yours wherever it is asked."""
    own = []
    for each in asked:
        try:
            own.append(float(np.asarray(yours.learning_rate(*each)).item()))
        except Exception:                            # what it returns, or that it stops, is somebody else's to say
            own.append(None)
    found = {says: worst_of(rate, right, asked, own) for says, rate in ways.items()}
    return {says: own[asked.index(worst)] for says, worst in found.items() if worst}


def worst_of(rate, right, asked, own):
    """A place where the mistake shows, if it explains all others, too."""
    shown = None
    for each, answer in zip(asked, own, strict=True):
        try:
            mistaken = rate(*each)
        except ZeroDivisionError:
            mistaken = None
        if mistaken is None or answer is None:
            if mistaken is not answer:
                return None
        elif not abs(mistaken - answer) <= 1e-6 * abs(each[-1]):
            return None
        elif abs(mistaken - right(*each)) > 1e-6 * abs(each[-1]):
            shown = shown or each
    return shown


# Sums over slices


def combined(model, slices, weights=None, totals=Totals()):
    """Σ over slices of weight times (loss, gradient), each divided by its own counts unless `totals` says by what."""
    loss, gradient = 0.0, 0.0
    for one, weight in zip(slices, weights or [1.0] * len(slices), strict=True):
        losses, grads = model.loss_and_grads(one, totals=totals)
        loss, gradient = loss + weight * float(losses.total), gradient + weight * grads.flat
    return np.array(loss), gradient


NO_LABEL_0 = "masked words whose label is 0 are not counted; 0 is a word like others"


def labelled(batches):
    """The number of masked words of each batch that have another label than 0."""
    return np.array([float(batch.mlm_weights[batch.mlm_labels > 0].sum()) for batch in batches])


def sum_mistakes(model, slices, which):
    """What known mistakes make of the loss (which=0) or the gradient (1)."""
    targets = [float(one.mlm_weights.sum()) for one in slices]
    sequences = [float(len(one.sop_labels)) for one in slices]
    used = [i for i, count in enumerate(targets) if count]
    whole, n = Totals(sum(targets), sum(sequences)), len(slices)

    def found(weights=None, totals=whole):
        return np.atleast_1d(combined(model, slices, weights, totals)[which])

    def share(counts):
        return [count / sum(counts) for count in counts]

    only = {f"it is the {name} slice's alone": [float(i == place) for i in range(n)]
            for name, place in (("last", n - 1), ("first", 0))}  # fmt: skip
    slots, tokens = (float(sum(getattr(one, name).size for one in slices)) for name in ("mlm_weights", "input_ids"))
    return {
        "the slices' means are averaged, each with the same weight: a slice of few masked words then counts as much as "
        "one of many": found([1 / n] * n, Totals()),
        "the slices' means are added, each divided by its own slice's counts; divide by those of the whole batch":
            found(None, Totals()),
        "the slices are weighted by their sequences; that is right for SOP, but MLM's mean is over masked words":
            found(share(sequences), Totals()),
        "the slices are weighted by their masked words; that is right for MLM, but SOP's mean is over sequences":
            found(share(targets), Totals()),
        "slices without a masked word are left out; their sequences count for SOP":
            found([float(i in used) for i in range(n)]),
        "slices without a masked word are left out, of the number of sequences, too":
            found([float(i in used) for i in range(n)], Totals(sum(targets), sum(sequences[i] for i in used))),
        **{f"{says}: the others' are overwritten": found(weights) for says, weights in only.items()},
        **{f"{says}, and divided by its own counts": found(weights, Totals()) for says, weights in only.items()},
        "the last slice is left out": found([1.0] * (n - 1) + [0.0]),
        "the first slice is left out": found([0.0] + [1.0] * (n - 1)),
        "the number of masked words is one too large; a slice without a masked word adds 0 to it":
            found(None, Totals(sum(targets) + 1, sum(sequences))),
        "the masked words of the first slice, times the number of slices, are the divisor":
            found(None, Totals(n * targets[0] or 1.0, sum(sequences))),
        "the sequences of the first slice, times the number of slices, are the divisor":
            found(None, Totals(sum(targets), n * sequences[0])),
        "tokens are counted in the place of sequences": found(None, Totals(sum(targets), tokens)),
        **{f"only the first {k} slices are added up": found([float(i < k) for i in range(n)]) for k in range(2, n - 1)},
        "targets and sequences have changed places in Totals": found(None, Totals(sum(sequences), sum(targets))),
        "all slots are counted; masked words are those with a weight": found(None, Totals(slots, sum(sequences))),
        NO_LABEL_0: found(None, Totals(float(labelled(slices).sum()) or 1.0, sum(sequences))),
        "all tokens are counted as masked words": found(None, Totals(tokens, sum(sequences))),
        "both sums are divided by the masked words": found(None, Totals(sum(targets), sum(targets))),
        "both sums are divided by the sequences": found(None, Totals(sum(sequences), sum(sequences))),
        "MLM is divided by each slice's own masked words": found(None, Totals(None, sum(sequences))),
        "SOP is divided by each slice's own sequences": found(None, Totals(sum(targets), None)),
        "slices are counted in the place of sequences": found(None, Totals(sum(targets), float(n))),
        "sums, which are not divided": found(None, Totals(1.0, 1.0)),
        "the sum over masked words is not divided": found(None, Totals(1.0, sum(sequences))),
        "the sum over sequences is not divided": found(None, Totals(sum(targets), 1.0)),
        "MLM alone: the sentence order's part is missing": found(None, Totals(sum(targets), 1e300)),
        "SOP alone: the masked words' part is missing": found(None, Totals(1e300, sum(sequences))),
        "the mean over slices is taken of what is a sum already": found([1 / n] * n),
        "it is there twice": 2 * found(),
        "each slice has the gradients of those before it, too": found([float(n - i) for i in range(n)]),
    }  # fmt: skip


# The plateau


def of_32_bits(counts):
    """The entropy where whole numbers above 2³¹ go round."""
    used = np.asarray(counts).astype(np.int32)
    used = used[used > 0]
    p = used / used.sum(dtype=np.int32)
    return -(p * np.log(np.where(p > 0, p, np.nan))).sum()


def plateau_mistakes(counts, p, right):
    V, used, N = len(counts), counts[counts > 0], counts.sum()
    few = counts[counts > 1]
    few = few if few.size else np.array([np.nan])
    found = {
        "counts are divided by their mean, not by their sum":
            -(used / counts.mean() * np.log(used / counts.mean())).sum(),
        "the logarithm is to base 2; losses are in natural logarithms": right / np.log(2),
        "the logarithm is to base 10; losses are in natural logarithms": right / np.log(10),
        "the sign is wrong": -right,
        "the mean over words instead of the sum": right / V,
        "the mean over words that occur instead of the sum": right / len(used),
        "the mean over words of -log p; each word must weigh as much as it occurs": -np.log(p).mean(),
        "the sum over words of -log p; each word must weigh as much as it occurs": -np.log(p).sum(),
        "the loss of guessing all words alike, log V": np.log(V),
        "the logarithm of the number of words that occur": np.log(len(used)),
        "counts, not frequencies, are in the sum": -(used * np.log(p)).sum(),
        "the logarithm is of the counts, not of the frequencies": -(p * np.log(used)).sum(),
        "counts are divided by the number of words, not by their sum": -(used / V * np.log(used / V)).sum(),
        "counts are divided by the largest, not by their sum": -(used / used.max() * np.log(used / used.max())).sum(),
        "the counts, or their sum, are kept in 32 bits, which these are too large for": of_32_bits(counts),
        "one is added to every count": -((counts + 1) / (N + V) * np.log((counts + 1) / (N + V))).sum(),
        "words that occur once are left out": -(few / few.sum() * np.log(few / few.sum())).sum(),
        "words that occur once are left out of the sum": -(few / N * np.log(few / N)).sum(),
        "p² stands where p must": -(p * p * np.log(p)).sum(),
        "one minus Σ p², without a logarithm": 1 - (p * p).sum(),
        "the loss of the most frequent word": -np.log(p.max()),
        "this is e to the loss, the perplexity": np.exp(right),
    }
    return {says: [value] for says, value in found.items() if np.isfinite(value)}
