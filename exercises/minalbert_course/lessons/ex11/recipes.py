"""Exercise 11's run with a target: the student's settings, and a training run with them in the grader's own process.

A loss that somebody hands in could be invented; three numbers cannot. A run takes half a second, and is kept.
"""

import functools
import numbers

import numpy as np

from ...compare import LIMIT, Wrong, equals, plain, same, shown
from ...given import Given
from ...makers.ex11 import small_model
from ...makers.small_language import held_out_batches, new_model, training_batches
from ..checks import Later
from .loop_mistakes import curve
from .training_mistakes import NO_LABEL_0, labelled, rate_of

STEPS, TARGET, LANGUAGES = 200, 1.5, 2
CLEAR = 1.3                                          # a loss that bad settings hardly ever come to
MORE, ENOUGH, NEAR = 3, 2, 2.2                       # pairs that are tried where the first is near; of which so many do
RESTS = 3.0                                          # near log 24, the entropy of the frequencies


def mean_mlm(model, batches):
    """The MLM loss over all masked words of all batches."""
    words = [float(batch.mlm_weights.sum()) for batch in batches]
    return sum(float(model.loss(batch).mlm) * n for batch, n in zip(batches, words, strict=True)) / sum(words)


FIRST_EMPTY = "loss where the first batch has no masked words"


def compare_held_out(yours, draw):
    sizes = [(4, 9, 5), (2, 7, 3), (3, 8, 1)] if draw.first else [(n, 9, n) for n in draw.sizes(a=2, b=4, c=6)]
    given = [Given.of("a batch", int(draw.integers(0, 1000)), *size) for size in sizes]
    given[0] = Given.of("a batch", *given[0].args, True, True)
    empty = Given.of("a batch", *given[1].args, False)
    cases, rights = [], []
    two_words = Given.of("a batch", 7, 2, 6, 1)
    for asked in (given, given[:1], [two_words], [*given, given[0], given[2]], [given[0], empty, given[2]]):
        seed = int(draw.integers(0, 1000))
        found = yours.held_out_loss(Given.of("a small model", seed), asked)
        made = [one.make() for one in asked]
        rights.append(mean_mlm(small_model(seed), made))
        cases.append((found, Later(held_out_mistakes, small_model(seed), made)))
    for (found, _), right in zip(cases, rights, strict=True):
        same("loss", found, right, suspects=Later(explaining_all, cases, found))
    first_empty = [empty, *given[1:]]
    found = yours.held_out_loss(Given.of("a small model", seed), first_empty)
    same(FIRST_EMPTY, found, mean_mlm(small_model(seed), [one.make() for one in first_empty]))
    compare_once_more(yours, draw, seed, asked, right)
    yours.untouched()


def explaining_all(cases, answer):
    """{mistake: this answer} of the mistakes that explain all. cases: [(an answer, {mistake: what it gives})]"""
    explained = [{says for says, wrong in mistakes.items() if gives(wrong, found)} for found, mistakes in cases]
    return {says: answer for says, _ in cases[0][1].items() if all(says in each for each in explained)}


def gives(wrong, found):
    try:
        found, wrong = (np.ravel(np.asarray(each, float)) for each in (found, wrong))
    except (TypeError, ValueError):
        return False
    return found.shape == wrong.shape and equals(found, wrong, LIMIT)


def compare_once_more(yours, draw, seed, asked, right):
    """The same model and batches again, other batches, and then once more after the model has been trained on."""
    keep = [Given.of("to keep", f"{draw.seed}.{i}", one) for i, one in enumerate(asked)]
    kept = Given.of("the same list", *(one.args[0] for one in keep))
    yours.held_out_loss(Given.of("to keep", str(draw.seed), Given.of("a small model", seed)), keep)
    again = yours.held_out_loss(Given.of("kept", str(draw.seed)), kept)
    same("loss of a second call with the same model", again, right,
         suspects={"the first call changed the model's weights; measuring must not": again})  # fmt: skip
    others = [Given.of("a batch", one.args[0] + 1, *one.args[1:]) for one in asked]
    found, model = yours.held_out_loss(Given.of("kept", str(draw.seed)), others), small_model(seed)
    stale = {"this is the loss of other batches: an earlier answer is handed out again": again}
    same("loss of the same model on other batches", found, mean_mlm(model, [one.make() for one in others]),
         suspects=stale)  # fmt: skip
    found = yours.held_out_loss(Given.of("trained on", str(draw.seed)), kept)
    model.params.flat[...] *= 0.8
    stale = {"this is the loss from before the training: an earlier answer is handed out again": again}
    same("loss of the same model, trained on,", found, mean_mlm(model, [one.make() for one in asked]), suspects=stale)


def held_out_mistakes(model, batches):
    losses = [model.loss(batch) for batch in batches]
    n = np.array([float(batch.mlm_weights.sum()) for batch in batches])
    mlm, sop, total = (np.array([float(getattr(loss, name)) for loss in losses]) for name in ("mlm", "sop", "total"))
    found = {
        "the batches' means are averaged, each with the same weight; a batch of few masked words then counts as much "
        "as one of many": mlm.mean(),
        "the batches' means are averaged, those without a masked word left out; weigh each by its masked words":
            mlm[n > 0].mean(),
        "this is the total loss; MLM's alone is asked for": (total * n).sum() / n.sum(),
        "the mean of the batches' total losses; MLM's alone is asked for": total.mean(),
        "this is SOP's loss; MLM's is asked for": sop.mean(),
        "the losses are added, and not divided by the number of masked words": (mlm * n).sum(),
        "the batches' means are added": mlm.sum(),
        "weighed by sequences; MLM's mean is over masked words":
            np.average(mlm, weights=[len(batch.sop_labels) for batch in batches]),
        "weighed by sequences, of batches that have a masked word; MLM's mean is over masked words":
            weighed(mlm, np.array([len(batch.sop_labels) for batch in batches]) * (n > 0)),
        "weighed by all places for masked words, unused ones too": np.average(
            mlm, weights=[batch.mlm_weights.size for batch in batches]),
        "the median of the batches' means": np.median(mlm) if len(mlm) > 2 else mlm.mean(),
        "the first batch alone": mlm[0],
        "the last batch alone": mlm[-1],
        "the losses are divided by the number of batches, not by that of masked words": (mlm * n).sum() / len(n),
        "the last batch's sum alone, divided by the masked words of all": mlm[-1] * n[-1] / n.sum(),
        "the first batch is left out": weighed(mlm[1:], n[1:]),
        "the last batch is left out": weighed(mlm[:-1], n[:-1]),
        "what comes after a batch without a masked word is left out":
            weighed(mlm[np.cumprod(n > 0) > 0], n[np.cumprod(n > 0) > 0]),
        "a batch without a masked word counts as if it had one": weighed(mlm, np.maximum(n, 1)),
        NO_LABEL_0: weighed(mlm, labelled(batches)),
        "weighed by the number of tokens": np.average(mlm, weights=[batch.input_ids.size for batch in batches]),
    }  # fmt: skip
    return {says: [value] for says, value in (found | slips_of_sums(mlm, n)).items()}


def slips_of_sums(mlm, n):
    """What slips with the two sums give, the losses' and the words'."""
    losses, words = float((mlm * n).sum()), float(n.sum())
    turned = 0.0, 0.0
    for loss, count in zip(mlm, n, strict=True):
        turned = turned[1] + count, turned[0] + loss * count
    return {
        "this is the number of masked words, without their losses": words,
        "the number of masked words is divided by the sum of the losses": words / losses,
        "this is 1: a sum is divided by itself, or the losses are left out of theirs": 1.0,
        "the sum of the losses is one too large: it begins with 0": (losses + 1) / words,
        "the sum of the losses is one too small: it begins with 0": (losses - 1) / words,
        "the number of masked words is one too large: it begins with 0": losses / (words + 1),
        "the number of masked words is one too small: it begins with 0": losses / (words - 1) if words > 1 else np.inf,
        "a batch's loss and its number of masked words are added; they must be multiplied": (mlm + n).sum() / words,
        "the two sums change places at each batch": turned[0] / turned[1],
        "the masked words are added to the sum of the losses, not to those of the batches before":
            losses / (losses - mlm[-1] * n[-1] + n[-1]) if losses - mlm[-1] * n[-1] + n[-1] else np.inf,
    }


def weighed(losses, counts):
    return (losses * counts).sum() / counts.sum() if counts.sum() else np.inf


# The run


def compare_target(yours, draw):
    """Raise Wrong unless a model that is trained with the student's settings has learned the words of its language."""
    plan = checked(*yours.settings())
    named = f"trained with steps={plan[0]}, warmup={plan[1]}, peak={plan[2]:g} on two languages, a model has"
    compare_losses(draw, named, plan, held_out_mlm, cause_of)


def compare_losses(draw, named, plan, held_out, cause):
    """Raise Wrong unless one language's loss, held_out(language, *plan), is clearly low, or the mean of two low enough.

    One language in twelve is hard: with settings that bring others to 1.2 it is still at 1.8 after its last step, or at
    3. So where the mean is near the target, or one of the two reaches it, three other pairs are tried, and two of them
    have to reach it.
    """
    if not draw.once:
        return

    def chosen():
        return [int(language) for language in draw.integers(0, 10**6, LANGUAGES)]

    def losses_of(languages):
        return [held_out(language, *plan) for language in languages]

    languages = chosen()
    losses = losses_of(languages[:1])
    if reach(losses, CLEAR):
        return
    losses += losses_of(languages[1:])
    if reach(losses, TARGET):
        return
    is_near = reach(losses, NEAR) or min(losses) <= TARGET
    if is_near and sum(reach(losses_of(chosen()), TARGET) for _ in range(MORE)) >= ENOUGH:
        return
    found = " and ".join(f"{loss:.2f}" for loss in losses)
    error = Wrong(f"{named} held-out MLM losses of {found}; their mean must be at most {TARGET}",
                  cause(languages[0], plan, losses[0]))  # fmt: skip
    error.final = error.exact = True
    raise error


def reach(losses, limit):
    return sum(losses) <= len(losses) * limit


def checked(steps, warmup, peak):
    """Three numbers that a run can be made with, or Wrong."""
    steps = whole_number("steps", steps, 1, STEPS)
    return steps, whole_number("warmup", warmup, 0, steps), above_zero("peak", peak)


def whole_number(name, value, least, most):
    value = plain(value)
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not least <= value <= most:
        raise Wrong(f"{name} is {shown(value)}; it must be a whole number from {least} to {most}")
    return int(value)


def above_zero(name, value):
    value = plain(value)
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < value < np.inf:
        raise Wrong(f"{name} is {shown(value)}; it must be a number above 0")
    return float(value)


@functools.lru_cache(512)
def held_out_mlm(language, steps, warmup, peak):
    model = new_model(language)
    with np.errstate(all="ignore"):
        curve(model, training_batches(language), [rate_of(step, steps, warmup, peak) for step in range(steps)])
        return mean_mlm(model, held_out_batches(language))


def cause_of(language, plan, loss):
    """Which one setting helps most where it is changed, found by changing it."""
    steps, warmup, peak = plan
    others = {
        "the rate is too high: with a fifth of your peak": (steps, warmup, peak / 5),
        "the rate is too low: with five times your peak": (steps, warmup, 5 * peak),
        "the steps are too few: with all 200 of them": (STEPS, warmup, peak),
    }
    return best_change({says: held_out_mlm(language, *other) for says, other in others.items() if other != plan}, loss)


def best_change(found, loss):
    """found: {what is changed, in words: the loss with that change}"""
    found = {says: other for says, other in found.items() if np.isfinite(other)}
    best = min(found, key=found.get, default=None)
    if best and not found[best] >= loss - 0.1:
        return f"{best} the first of these losses is {found[best]:.2f}"
    rests = " It rests at the plateau." if loss > RESTS else ""
    return f"no change of one setting alone helps much; change two at a time.{rests}"
