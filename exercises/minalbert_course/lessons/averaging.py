"""A run with an average of its weights, for exercise 11's variant: what is right, and what mistakes make of it."""

import functools

import numpy as np

from minalbert.optim import Schedule

from ..compare import PERHAPS, Wrong, same
from ..given import Given
from ..makers.ex11 import small_model
from ..makers.small_language import held_out_batches, new_model, training_batches
from .checks import Later
from .loop_mistakes import curve, slips_of_a_loop
from .loops import as_many, compare_fresh, equals, own_rates, runs, same_or_own, where_there_are_rates
from .recipes import above_zero, best_change, explaining_all, held_out_mistakes, mean_mlm, whole_number

STEPS, LEAST = 120, 0.8                              # the most steps of a run with a target, and the least beta


def rate_of(step, steps, warmup, decay, peak):
    rise = min(1.0, (step + 1) / max(warmup, 1))
    fall = 1 - (max(0, step - steps + decay) / max(decay, 1)) ** 0.5
    return peak * rise * fall if step < steps else 0.0


def otherwise_in_the_fall(way):
    """The rate with way(share of the fall that is done) in the fall."""
    return lambda step, steps, warmup, decay, peak: (
        peak * way((step - steps + decay) / decay) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak))  # fmt: skip


def otherwise_in_the_rise(way):
    return lambda step, steps, warmup, decay, peak: (
        peak * way(step, warmup) if step < warmup else rate_of(step, steps, warmup, decay, peak))  # fmt: skip


RATES = {
    "the fall is a straight line; it is 1 - √((step - (steps - decay)) / decay)": otherwise_in_the_fall(
        lambda done: 1 - done),
    "the fall has a square where a root is meant": otherwise_in_the_fall(lambda done: 1 - done**2),
    "the root is of what is left of the fall; it is 1 - √(done / decay)": otherwise_in_the_fall(
        lambda done: (1 - done) ** 0.5),
    "the fall is √(done / decay); it is 1 less that": otherwise_in_the_fall(lambda done: done**0.5),
    "the fall begins a step too late: step - d - 1 stands where step - d must": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, decay, peak) if step <= steps - decay or step >= steps else
        peak * (1 - ((step - steps + decay - 1) / decay) ** 0.5),
    "the fall is a cosine": otherwise_in_the_fall(lambda done: (1 + np.cos(np.pi * done)) / 2),
    "the rise is step / warmup; the first update has peak / warmup": otherwise_in_the_rise(
        lambda step, warmup: step / warmup),
    "the rise is divided by warmup + 1": otherwise_in_the_rise(lambda step, warmup: (step + 1) / (warmup + 1)),
    "the rise is left out": otherwise_in_the_rise(lambda step, warmup: 1.0),
    "the fall is left out: the rate stays at its peak": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, 0, peak),
    "the fall begins a step too early": lambda step, steps, warmup, decay, peak:
        rate_of(step + (warmup <= step < steps), steps, warmup, decay, peak),
    "the fall begins at step = decay; decay is the number of its steps": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, steps - decay, peak),
    "the fall ends a step too early: it is divided by decay - 1": lambda step, steps, warmup, decay, peak:
        peak * (1 - ((step - steps + decay) / max(decay - 1, 1)) ** 0.5) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "the first step of the fall has the peak rate, too": lambda step, steps, warmup, decay, peak:
        peak if step == steps - decay + 1 < steps else rate_of(step, steps, warmup, decay, peak),
    "while the rate falls it is that of the next step": lambda step, steps, warmup, decay, peak:
        rate_of(step + (steps - decay < step), steps, warmup, decay, peak),
    "the rise goes on at step = warmup, where the plateau begins": lambda step, steps, warmup, decay, peak:
        peak * (step + 1) / warmup if warmup and step <= warmup and step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "the fall is divided by steps; it must be by decay": lambda step, steps, warmup, decay, peak:
        peak * (1 - ((step - steps + decay) / steps) ** 0.5) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "where there is no fall, the rate at step = steps is the peak; it is 0": lambda step, steps, warmup, decay, peak:
        peak if step == steps and not decay else rate_of(step, steps, warmup, decay, peak),
    "where there is no fall, the rate stays at its peak; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak:
        peak if step >= steps and not decay else rate_of(step, steps, warmup, decay, peak),
    "after the last step the rate stays at its peak; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak: peak if step >= steps else rate_of(step, steps, warmup, decay, peak),
    "after the last step the rate falls below 0; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak: peak * (1 - ((step - steps + decay) / decay) ** 0.5)
        if step > steps - decay else rate_of(step, steps + 1, warmup, 0, peak),
    "the rate is ALBERT's: a rise from 0, and a fall from the first step on": lambda step, steps, warmup, decay, peak:
        Schedule(peak, steps, warmup).rate(step),
    "the peak is left out": lambda step, steps, warmup, decay, peak: rate_of(step, steps, warmup, decay, 1.0),
}  # fmt: skip


# The average


def average_of(weights, beta):
    """weights: (t, n), after each step"""
    shares = beta ** np.arange(len(weights) - 1.0, -1.0, -1.0)
    return shares @ np.asarray(weights) / shares.sum()


def moved_average(average, weights, t, beta):
    before = (1 - beta ** (t - 1)) / (1 - beta)      # the divisor so far
    return (beta * before * average + weights) / (beta * before + 1)


def moved_mistakes(average, weights, t, beta):
    share = (1 - beta) / (1 - beta**t)
    ways = {
        "the share of the newest is 1 - β; it must be divided by 1 - βᵗ": 1 - beta,
        "the shares are exchanged: the newest has (1 - β) / (1 - βᵗ)": 1 - share,
        "β is the share of the newest": beta,
        "the mean of all has equal shares, 1 / t; later ones count more": 1 / t,
        "1 - βᵗ has t + 1 where t is meant": (1 - beta) / (1 - beta ** (t + 1)),
        "1 - βᵗ has t - 1 where t is meant": (1 - beta) / (1 - beta ** (t - 1)) if t > 1 else np.nan,
        "1 - β t is the divisor; it must be 1 - βᵗ": (1 - beta) / (1 - beta * t) if beta * t != 1 else np.nan,
    }
    found = {says: average + other * (weights - average) for says, other in ways.items()}
    found |= {
        "the newest weights alone": weights,
        "the average did not move": average,
        "the whole is divided by 1 - βᵗ, the old average, too": (beta * average + (1 - beta) * weights) / (1 - beta**t),
        "the old average has the factor β; it must be 1 - share": beta * average + share * weights,
        "the share of the newest is 1": beta * average + weights,
    }
    return {says: other for says, other in found.items() if np.isfinite(other).all()}


def compare_moved(yours, draw):
    betas = (0.9, 0.5, 0.0) if draw.first else (*map(float, draw.uniform(0.05, 0.999, 2)), 0.99)
    for beta in betas:
        given = draw.normal(5, *draw.sizes(n=7, least=3), scale=50 if beta == betas[-1] else 1)
        runs_of = {t: np.roll(given, t, axis=0) for t in (2, 3, 4, 5, 1)}        # none is given what another returns
        asked = [(average_of(run[: t - 1], beta) if t > 1 else np.zeros_like(given[0]), run[t - 1], t, beta)
                 for t, run in runs_of.items()]      # the first has no average before it, and tells mistakes not apart
        answers = [yours.moved_average(*each) for each in asked]
        cases = [(answer, Later(moved_mistakes, *each)) for answer, each in zip(answers, asked[:-1], strict=False)]
        for answer, (*_, t, _) in zip(answers, asked, strict=True):
            suspects = Later(explaining_all, cases, answer) if t > 1 else None
            right = average_of(runs_of[t][:t], beta)
            same(f"the average after step {t}, beta {beta:.3g},", answer, right, "n", suspects=suspects)
    for t, beta in ((10**5, 0.9), (150, 0.999), (2000, 0.9999), (10**5, 0.99999)):
        far = yours.moved_average(given[0], given[1], t, beta)
        suspects = Later(moved_mistakes, given[0], given[1], t, beta)
        right = moved_average(given[0], given[1], t, beta)
        same(f"the average after step {t}, beta {beta:g},", far, right, "n", suspects=suspects)
    zeros = np.zeros_like(given[0])                  # an average may be that after any step
    suspects = {"an average of zeros is taken for none; t says how many steps there were": given[1]}
    second = yours.moved_average(zeros, given[1], 2, 0.5)
    same("the average after step 2, of zeros and weights,", second, given[1] / 1.5, "n", suspects=suspects)
    second, suspects = yours.moved_average(given[0], zeros, 2, 0.5), {"weights of zeros are taken for none": given[0]}
    same("the average after step 2, with weights of zeros,", second, given[0] / 3, "n", suspects=suspects)
    one = yours.moved_average(given[0][:1], given[1][:1], 2, 0.5)
    same("the average after step 2, of a single number,", one, (given[0][:1] + 2 * given[1][:1]) / 3, "n")


# A run


def plans(draw):
    """The runs of `loops`, each with (steps, warmup, decay, peak, beta)."""
    for number, (model, batches, (steps, warmup, peak)) in enumerate(runs(draw)):
        beta = (0.6, 0.9, 0.0)[number % 3] if draw.first else float(draw.uniform(0.3, 0.95))
        decay = steps - warmup if number == 1 else min(steps - warmup, 3)
        yield model, batches, (steps, warmup, decay, peak, beta)


@functools.lru_cache(64)
def right_run(model, batches, rates):
    """The losses, and the weights after each step."""
    weights, made = [], [one.make() for one in batches]
    losses = curve(small_model(*model), made, rates, visit=lambda flat: weights.append(flat.copy()))
    return losses, weights


def asked_rates(plan):
    return tuple(rate_of(step, *plan) for step in range(plan[0]))


def trained(yours, model, batches, plan):
    """losses, average"""
    losses, average = yours.train(Given.of("a small model", *model), batches, *plan)
    return as_many(losses, plan, len(batches)), average


def compare_run_losses(yours, named, losses, model, batches, plan, right=None):
    """A wrong learning_rate costs its own points alone."""
    rates, batches = asked_rates(plan[:-1]), tuple(batches)
    right = right_run(model, batches, rates)[0] if right is None else right

    def own():
        rates = own_rates(yours, plan[:-1])
        return None if rates is None else right_run(model, batches, rates)[0]

    same_or_own(named, losses, right, own, Later(slips_of_a_loop, model, batches, rates, plan[3]))


def compare_losses(yours, *asked):
    """asked: model, batches, plan"""
    where_there_are_rates(yours, asked[-1][:-1], lambda: compare_run_losses(
        yours, "losses", trained(yours, *asked)[0], *asked))  # fmt: skip


def compare_average(yours, *asked):
    where_there_are_rates(yours, asked[-1][:-1], lambda: compare_run_average(
        yours, trained(yours, *asked)[1], *asked))  # fmt: skip


def compare_run_average(yours, average, model, batches, plan):
    """As for the losses: neither a wrong learning_rate nor a wrong moved_average costs more than its own points."""
    *asked, beta = plan
    rates, batches = asked_rates(asked), tuple(batches)
    weights = right_run(model, batches, rates)[1]
    suspects = Later(average_mistakes, small_model(*model).params.flat, weights, beta)
    try:
        same("average", average, average_of(weights, beta), "n", suspects=suspects)
    except Wrong:
        for gone in {rates, own_rates(yours, asked)} - {None}:
            weights = right_run(model, batches, gone)[1]
            if any(equals(average, other) for other in (average_of(weights, beta), own_average(yours, weights, beta))):
                return
        raise


def own_average(yours, weights, beta):
    """By the student's moved_average, unless that is 0; then nothing equals it."""
    average = np.zeros_like(weights[0])
    for t, newest in enumerate(weights, 1):
        average = np.asarray(yours.moved_average(average, newest, t, beta), float)
    return average if average.any() else np.full_like(average, np.inf)


def average_by(shares, weights):
    """The average where the newest has such a share: shares(t)."""
    average = np.zeros_like(weights[0])
    for t, newest in enumerate(weights, 1):
        average = average + shares(t) * (newest - average)
    return average


def average_mistakes(first, weights, beta):
    ahead = [first, *weights[:-1]]
    shares = (1 - beta) * beta ** np.arange(len(weights) - 1.0, -1.0, -1.0)
    sums = shares @ np.asarray(weights)
    gone = 1 - shares.sum()
    return {
        "these are the last weights: `average` shares its memory with the model's, or it starts again at each step":
            weights[-1],
        "these are the weights before the run": first,
        "the average is taken before each step; it must be after": average_of(ahead, beta),
        "the mean of all steps with equal shares; later ones count more": np.mean(weights, axis=0),
        "the average begins with the weights before the run; for t = 1 it is w_1": sums + gone * first,
        "the average begins with the weights before the run as one of its terms": average_of([first, *weights], beta),
        "the shares sum to 1 - βᵗ: divide by that": sums,
        "t is one too large in the average": average_by(lambda t: (1 - beta) / (1 - beta ** (t + 1)), weights),
        "the last step is left out of the average": average_of(weights[:-1], beta) if len(weights) > 1 else first,
        "the first step is left out of the average": average_of(weights[1:], beta) if len(weights) > 1 else first,
    }


def compare_left(yours, draw):
    """The weights that a run leaves, by the losses of a second run at rate 0."""
    model, batches, plan = next(plans(draw))
    keep = Given.of("to keep", str(draw.seed), Given.of("a small model", *model))
    losses, _ = yours.train(keep, batches, *plan)
    compare_run_losses(yours, "losses", as_many(losses, plan, len(batches)), model, batches, plan)
    found, _ = yours.train(Given.of("kept", str(draw.seed)), batches, len(batches), 1, 1, 0.0, 0.5)
    own = own_rates(yours, plan[:-1])
    ways = [right_run(model, tuple(batches), rates)[1] for rates in (asked_rates(plan[:-1]), own) if rates]
    right, *others = (losses_with(model, weights[-1], batches) for weights in ways)
    suspects = {
        "the model is left with the average; it must have the weights of the last step":
            losses_with(model, average_of(ways[0], plan[-1]), batches),
        "the weights are those from before the run": losses_with(model, small_model(*model).params.flat, batches),
    }  # fmt: skip
    if not any(equals(found, other) for other in others):
        named = "losses of a second run, at rate 0, with the model that the first one has trained"
        same(named, found, right, suspects=suspects)
    more = 3, 1, 1, 0.05
    found, _ = yours.train(Given.of("kept", str(draw.seed)), batches, *more, 0.5)
    made = [one.make() for one in batches]
    compare_fresh(found, [curve(with_weights(model, weights[-1]), made, rates)
                          for weights, rates in zip(ways, (asked_rates(more), own_rates(yours, more)), strict=False)
                          if rates])  # fmt: skip


def losses_with(model, weights, batches):
    made = with_weights(model, weights)
    return np.array([float(made.loss(one.make()).total) for one in batches])


def with_weights(model, weights):
    made = small_model(*model)
    made.params.flat[...] = weights
    return made


# Held-out losses


def compare_held_out(yours, draw):
    sizes = [(4, 9, 5), (2, 7, 3), (3, 8, 1)] if draw.first else [(n, 9, n) for n in draw.sizes(a=2, b=4, c=6)]
    given = [Given.of("a batch", int(draw.integers(0, 1000)), *size) for size in sizes]
    empty = Given.of("a batch", *given[1].args, False)
    cases, right = [], []
    lists = given, given[:1], [Given.of("a batch", 7, 2, 6, 1)], [given[0], empty, given[2]], [*given, *given[::2]]
    for asked in lists:
        seed, other = (int(seed) for seed in draw.integers(0, 1000, 2))
        size = (0.25, 12) if asked is lists[1] else ()
        weights = small_model(other + 1000, *size).params.flat.copy()
        found = yours.held_out_loss(Given.of("a small model", seed, *size), asked, weights)
        made = [one.make() for one in asked]
        cases.append((found, Later(measuring_mistakes, (seed, *size), weights, made)))
        right.append(held_out_of((seed, *size), weights, asked))
    for (found, _), loss in zip(cases, right, strict=True):
        same("loss", found, loss, suspects=Later(explaining_all, cases, found))
    compare_of_zeros(yours, seed, asked)
    compare_of_its_own(yours, draw, seed, asked)


def held_out_of(model, weights, batches):
    with np.errstate(all="ignore"):                  # the weights may be a student's
        return mean_mlm(with_weights(model, weights), [one.make() for one in batches])


def compare_of_zeros(yours, seed, asked):
    """Weights may be any; by zeros each word is as likely as another."""
    own = small_model(seed).params.flat
    found = yours.held_out_loss(Given.of("a small model", seed), asked, 0 * own)
    suspects = {"weights of zeros are taken for none: the model's own are measured": held_out_of((seed,), own, asked)}
    same("loss by weights that are all 0", found, held_out_of((seed,), 0 * own, asked), suspects=suspects)


def compare_of_its_own(yours, draw, seed, asked):
    """The weights may be the model's own memory: what is written there changes them."""
    own, name = small_model(seed).params.flat, f"own {draw.seed}"
    model = Given.of("to keep", name, Given.of("a small model", seed))
    found = yours.held_out_loss(model, asked, Given.of("the weights of the kept themselves", name))
    of_zeros = held_out_of((seed,), 0 * own, asked)
    suspects = {"the model's memory is set to 0 before the weights are copied there": of_zeros}
    same("loss by model.params.flat itself", found, held_out_of((seed,), own, asked), suspects=suspects)


def measuring_mistakes(model, weights, made):
    own = mean_mlm(small_model(*model), made)
    found = {"the model's own weights are measured; `weights` must be in their place": [own]}
    return found | held_out_mistakes(with_weights(model, weights), made)


def compare_put_back(yours, draw):
    """What a model has after it was measured with other weights."""
    seed, name = int(draw.integers(0, 1000)), str(draw.seed)
    batches = [Given.of("a batch", seed + i, 3, 8, 3) for i in range(2)]
    weights = small_model(seed + 1000).params.flat.copy()
    yours.held_out_loss(Given.of("to keep", name, Given.of("a small model", seed)), batches, weights)
    left = Given.of("weights of the kept", name)
    found = yours.held_out_loss(Given.of("a small model", seed + 1), batches, left)
    made = [one.make() for one in batches]
    right, with_others = mean_mlm(small_model(seed), made), mean_mlm(with_weights((seed,), weights), made)
    suspects = {
        "the model keeps the weights that it was measured with: copy its own before, and write them back":
            [with_others],
        "the weights are not used: this is the loss of a model's own": [mean_mlm(small_model(seed + 1), made)],
    }  # fmt: skip
    same("loss by the weights that the model has after it was measured", found, right, suspects=suspects)
    before = yours.held_out_loss(Given.of("a small model", seed + 1), batches, small_model(seed).params.flat.copy())
    found, before = float(np.asarray(found).item()), float(np.asarray(before).item())
    if not equals(found, before, 1e-11):
        seen = f"loss by the weights that the model has after it was measured: {found:.12g}, and {before:.12g} before"
        raise Wrong(seen, f"{PERHAPS}its weights are rounded, as to float32: keep a copy of them as they are")
    yours.held_out_loss(Given.of("kept", name), batches, 1e15 * weights)
    found = yours.held_out_loss(Given.of("a small model", seed + 1), batches, left)
    suspects = {"the weights are not put back as they were: keep a copy, and add or subtract nothing": found}
    same("loss by the weights that it has after it was measured with large ones", found, before, suspects=suspects)
    yours.untouched()


# The run with a target


def checked(steps, warmup, decay, peak, beta):
    """Five numbers that a run can be made with, or Wrong."""
    steps = whole_number("steps", steps, 1, STEPS)
    warmup = whole_number("warmup", warmup, 0, steps)
    decay, peak = whole_number("decay", decay, 0, steps - warmup), above_zero("peak", peak)
    beta = above_zero("beta", beta)
    if not LEAST <= beta < 1:
        raise Wrong(f"beta is {beta:g}; it must be at least {LEAST}, and less than 1")
    return steps, warmup, decay, peak, beta


@functools.lru_cache(512)
def averaged_mlm(language, *plan):
    model, steps, average = new_model(language), iter(range(1, STEPS + 1)), [0.0]

    def visit(weights):
        average[0] = moved_average(average[0], weights, next(steps), plan[-1])

    with np.errstate(all="ignore"):
        curve(model, training_batches(language), asked_rates(plan[:-1]), visit=visit)
        model.params.flat[...] = average[0]
        return mean_mlm(model, held_out_batches(language))


def cause_of(language, plan, loss):
    """Which one setting helps most where it is changed, found by changing it."""
    steps, warmup, decay, peak, beta = plan
    others = {
        "the rate is too high: with a fifth of your peak": (steps, warmup, decay, peak / 5, beta),
        "the rate is too low: with five times your peak": (steps, warmup, decay, 5 * peak, beta),
        "the average reaches too far back: with a beta of 0.8": (steps, warmup, decay, peak, LEAST),
    }
    if steps < STEPS:
        others["the steps are too few: with all 120 of them"] = (STEPS, warmup, decay, peak, beta)
    return best_change({says: averaged_mlm(language, *other) for says, other in others.items() if other != plan}, loss)
