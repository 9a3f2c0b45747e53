"""A run with an average of its weights, for exercise 11's variant: what is right, and what mistakes make of it."""

import functools

import numpy as np

from ...compare import Wrong, same
from ...given import Given
from ...makers.ex11 import small_model
from ..checks import Later
from .loop_mistakes import curve, slips_of_a_loop
from .loops import as_many, compare_fresh, equals, own_rates, runs, same_or_own, where_there_are_rates
from .recipes import explaining_all
from .root_rates import rate_of

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
    for t, beta in ((10**5, 0.9), (81, 0.9), (150, 0.999), (2000, 0.9999), (10**5, 0.99999)):
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
    beta = 0.0 if draw.first else 0.5                # by 0 the average is the newest weights, copied
    found, _ = yours.train(Given.of("kept", str(draw.seed)), batches, len(batches), 1, 1, 0.0, beta)
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
