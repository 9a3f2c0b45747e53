"""Losses on other texts by an average of weights, for exercise 11's variant, and the run with a target."""

import functools

import numpy as np

from ...compare import PERHAPS, Wrong, same
from ...given import Given
from ...makers.ex11 import small_model
from ...makers.small_language import held_out_batches, new_model, training_batches
from ...remembered import remembered
from ..checks import Later
from .averaging import asked_rates, moved_average, with_weights
from .loop_mistakes import curve
from .loops import equals
from .recipes import FIRST_EMPTY, above_zero, best_change, explaining_all, held_out_mistakes, mean_mlm, whole_number

STEPS, LEAST = 120, 0.8                              # the most steps of a run with a target, and the least beta


def compare_held_out(yours, draw):
    sizes = [(4, 9, 5), (2, 7, 3), (3, 8, 1)] if draw.first else [(n, 9, n) for n in draw.sizes(a=2, b=4, c=6)]
    given = [Given.of("a batch", int(draw.integers(0, 1000)), *size) for size in sizes]
    given[0] = Given.of("a batch", *given[0].args, True, True)
    empty = Given.of("a batch", *given[1].args, False)
    cases, right = [], []
    lists = (given, given[:1], [Given.of("a batch", 7, 2, 6, 1)], [given[0], empty, given[2]],
             [*given, *given[::2]])  # fmt: skip
    for asked in lists:
        seed, other = (int(seed) for seed in draw.integers(0, 1000, 2))
        size = (0.25, 12) if asked is lists[1] else ()
        weights = small_model(other + 1000, *size).params.flat.copy()
        if asked is lists[2]:                        # after training biases are not 0, nor gains 1
            weights += 0.1 * draw.normal(weights.size)
        found = yours.held_out_loss(Given.of("a small model", seed, *size), asked, weights)
        made = [one.make() for one in asked]
        cases.append((found, Later(measuring_mistakes, (seed, *size), weights, made)))
        right.append(held_out_of((seed, *size), weights, asked))
    for (found, _), loss in zip(cases, right, strict=True):
        same("loss", found, loss, suspects=Later(explaining_all, cases, found))
    first_empty = [empty, *given[1:]]
    found = yours.held_out_loss(Given.of("a small model", seed), first_empty, weights)
    same(FIRST_EMPTY, found, held_out_of((seed,), weights, first_empty))
    compare_of_zeros(yours, seed, asked)
    compare_of_its_own(yours, draw, seed, asked)


@remembered
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
    batches = [Given.of("a batch", seed + i, 3, 8, 3, True, i == 0) for i in range(2)]
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
    empty = Given.of("a batch", *batches[1].args[:4], False)
    yours.held_out_loss(Given.of("kept", name), [batches[0], empty], 1e15 * weights)
    found = yours.held_out_loss(Given.of("a small model", seed + 1), batches, left)
    suspects = {"the weights are not put back where the last batch has no masked words": found}
    same("loss by the weights that it has after such a batch was measured", found, before, suspects=suspects)
    compare_trained_on(yours, seed, name, batches, before)
    yours.untouched()


def compare_trained_on(yours, seed, name, batches, before):
    """As above, after the kept model was trained on. before: the loss by the weights that it had until then"""
    left, made = Given.of("weights of the kept", name), [one.make() for one in batches]
    yours.held_out_loss(Given.of("trained on", name), batches, left)
    found = yours.held_out_loss(Given.of("a small model", seed + 1), batches, left)
    right = mean_mlm(with_weights((seed,), 0.8 * small_model(seed).params.flat), made)
    suspects = {"those are put back that it had when it was measured first; it was trained since": [before]}
    same("loss by the weights that a model, trained on, has after it was measured again", found, right,
         suspects=suspects)  # fmt: skip


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
