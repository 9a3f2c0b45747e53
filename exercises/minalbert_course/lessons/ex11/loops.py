"""The loop of exercise 11: which runs are asked for, and what is right."""

import functools

import numpy as np

from ...compare import LIMIT, PERHAPS, Wrong, numbers, same, without_causes
from ...given import Given
from ...makers.ex11 import small_model
from ...values import Stopped
from ..checks import Later
from .loop_mistakes import curve, loss_mistakes
from .training_mistakes import rate_of


def run(draw):
    """seed of the model, batches, (steps, warmup, peak)"""
    seed, *seeds = (int(seed) for seed in draw.integers(0, 1000, 4))
    batches = [Given.of("a batch", seed, 4, 9, 3) for seed in seeds]
    return seed, batches, (7, 3, 0.06) if draw.first else (int(draw.integers(6, 9)), 2, float(draw.uniform(0.04, 0.1)))


def runs(draw):
    """run, then shorter ones, and one in which gradients are shorter and longer than 1, in turns. The second draw has
    one of a single step, too, and one with a long rise, of a model of another size."""
    seed, batches, plan = run(draw)
    yield (seed,), batches, plan
    one_text = [Given.of("a batch", seed + 2, 1, 5, 1)]
    yield (seed,), one_text, (14, 1, 0.05)           # until it is known by heart
    yield (seed,), batches, (2, 0, 1.5)
    short = [Given.of("a batch", seed + 1, 40, 14, 9), *batches[:1]]
    yield (seed, 0.05), short, (4, 1, 0.05)
    if draw.first:
        yield (seed,), [*batches, batches[0]], (9, 1, 0.03)
        yield (seed,), batches[:2], (13, 1, 0.0)     # no loss is below the first two; whoever waits for one stops
    else:
        yield (seed,), one_text, (1, 0, 0.05)
        yield (seed, 0.25, 12), one_text, (13, 11, 0.03)
        yield (seed,), 2 * batches, (3, 1, 0.05)     # fewer steps than batches


def compare_first_losses(yours, draw):
    seed, batches, plan = run(draw)
    for asked in (plan, (2, 1, 0.01), *([(11, 4, 0.01)] if draw.first else [])):
        losses = as_many(yours.train(Given.of("a small model", seed), batches, *asked), asked, len(batches))
        first = small_model(seed).loss(batches[0].make())
        suspects = {
            "MLM's loss alone; the total loss is asked for": float(first.mlm),
            "SOP's loss alone; the total loss is asked for": float(first.sop),
            **{f"this is the loss of the {number} batch; the first one comes first":
               float(small_model(seed).loss(batches[place].make()).total)
               for number, place in (("second", 1), ("last", -1))},
        }  # fmt: skip
        same("the first loss", losses[0], float(first.total), suspects=suspects)


def compare_curves(yours, named, model, batches, plan, right=None):
    """model: the arguments of small_model"""

    def trained():
        losses = yours.train(Given.of("a small model", *model), batches, *plan)
        compare(yours, named, losses, model, batches, plan, right)

    where_there_are_rates(yours, plan, trained)


def where_there_are_rates(yours, plan, compare):
    """compare(), unless it fails where the student's learning_rate has no rates, for want of a rise or a fall."""
    try:
        compare()
    except (Stopped, Wrong):
        rates = own_rates(yours, plan)
        if 0 not in plan[1:-1] or not (rates is None or not np.isfinite(rates).all()):
            raise


def compare(yours, named, losses, model, batches, plan, right=None):
    losses = as_many(listed(losses, plan), plan, len(batches))
    asked = model, tuple(batches), plan
    same_run(yours, named, losses, "losses", asked, Later(loss_mistakes, *asked), right)


def same_run(yours, named, found, which, asked, suspects, right=None):
    """A wrong learning_rate costs its own points alone."""
    model, batches, plan = asked
    if right is None:
        right = right_run(model, batches, right_rates(plan))[which]

    def own():
        rates = own_rates(yours, plan)
        return None if rates is None else right_run(model, batches, rates)[which]

    same_or_own(named, found, right, own, suspects)


def same_or_own(named, found, right, own, suspects):
    """Raise Wrong, with its cause, unless it is `right`, or what own() gives, if that is not None."""
    if not equals(found, right) and ((other := own()) is None or not equals(found, other)):
        same(named, found, np.array(right), suspects=suspects)


def equals(found, right, limit=LIMIT):
    try:
        with without_causes():
            same("losses", found, np.array(right), limit=limit)
    except Wrong:
        return False
    return True


@functools.lru_cache(512)
def right_run(model, batches, rates):
    """The losses, and those of all batches by the weights `after` the run."""
    made, trained = [batch.make() for batch in batches], small_model(*model)
    losses = curve(trained, made, rates)
    return {"losses": losses, "after": [float(trained.loss(batch).total) for batch in made]}


def right_rates(plan):
    return tuple(rate_of(step, *plan) for step in range(plan[0]))


def own_rates(yours, plan):
    """Those of the student's learning_rate, or None."""
    try:
        rates = numbers("rates", [yours.learning_rate(step, *plan) for step in range(plan[0])], plan[:1])
        return tuple(rates.astype(float).ravel().tolist())
    except (Wrong, Stopped, FloatingPointError):
        return None


def compare_left(yours, draw):
    """A second run, at rate 0, of the model that the first has left."""
    seed, batches, plan = run(draw)
    keep = [Given.of("to keep", f"{draw.seed}.{i}", batch) for i, batch in enumerate(batches)]
    kept = [Given.of("kept", one.args[0]) for one in keep]
    model = Given.of("to keep", str(draw.seed), Given.of("a small model", seed))
    compare(yours, "losses", yours.train(model, keep, *plan), (seed,), batches, plan)
    found = yours.train(Given.of("kept", str(draw.seed)), kept, len(batches), 1, 0.0)
    asked = (seed,), tuple(batches), plan
    suspects = {
        "the weights are those from before the run: is a copy trained, or are they put back?":
            [float(small_model(seed).loss(batch.make()).total) for batch in batches],
        "the last step is not made": lambda: right_run(*asked[:2], right_rates(plan)[:-1])["after"],
    }  # fmt: skip
    named = "losses of a second run, at rate 0, with the model that the first one has trained"
    try:
        same_run(yours, named, found, "after", asked, suspects)
    except Wrong as error:
        error.cause = error.cause if error.cause in suspects else "seen: other weights are left than the last step's"
        raise
    more = 3, 1, 0.05
    found = yours.train(Given.of("kept", str(draw.seed)), kept, *more)
    both = ((right_rates(plan), right_rates(more)), (own_rates(yours, plan), own_rates(yours, more)))
    compare_fresh(found, [continued(*asked[:2], *rates) for rates in both if all(rates)])


def continued(model, batches, rates, more):
    """The losses of a run with moments of its own, after another one."""
    made, trained = [batch.make() for batch in batches], small_model(*model)
    curve(trained, made, rates)
    return curve(trained, made, more)


def compare_fresh(found, ways):
    """ways: what is right, by the right rates and by the student's own"""
    if not any(equals(found, way) for way in ways):
        named = "losses of a third run, with the model that the first one has trained"
        try:
            same(named, found, np.array(ways[0]))
        except Wrong as error:
            error.cause = f"{PERHAPS}something is kept from run to run; the moments of each begin at zero"
            raise


def listed(losses, plan):
    """A list of the number that `yours.unpacked` makes of a tuple of one."""
    number = isinstance(losses, int | float | np.number | np.ndarray) and np.ndim(losses) == 0
    return [losses] if number and plan[0] == 1 else losses


def as_many(losses, plan, rounds):
    steps = plan[0]
    losses = numbers("losses", losses, plan[:1])
    if losses.shape != (steps,):
        causes = {
            (): "one number, not a list of them",
            (steps - 1,): "one step too few",
            (steps + 1,): "one step too many",
            (min(rounds, steps),): "perhaps: one round through the batches, however many steps are asked for",
        }
        raise Wrong(f"losses has shape {losses.shape}; it must be ({steps},), one for each step",
                    causes.get(losses.shape))  # fmt: skip
    return losses
