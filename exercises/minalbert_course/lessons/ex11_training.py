"""Exercise 11: training. The rate of each step, a batch in slices, the loop, and the plateau."""

import numpy as np

from minalbert.model.pretraining import Totals
from minalbert.optim import Schedule
from minalbert.train import pretrain
from minalbert.train.evaluation import baselines

from ..compare import Wrong, numbers, same
from ..given import Given
from ..lesson import Lesson
from ..makers.ex11 import small_model
from ..outside import numbers as stored
from ..yours import Stopped
from .checks import Later
from .loop_mistakes import curve, loss_mistakes
from .training_mistakes import combined, plateau_mistakes, rate_mistakes, rate_of, sum_mistakes


def unigram_loss(counts):
    share = counts[counts > 0] / counts.sum()
    return -(share * np.log(share)).sum()


lesson = Lesson(
    "ex11", "training", minutes=90,
    functions={
        "learning_rate": "rate",
        "accumulate": "loss, gradient",
        "train": "losses",
        "unigram_loss": "loss",
    },
    withheld=(Schedule.rate, baselines, pretrain),
    references={"learning_rate": rate_of, "unigram_loss": unigram_loss},
)  # fmt: skip
LESSONS = [lesson]

RATE = "peak step / warmup while step < warmup, then peak (1 - step / steps)"


# The rate


def compare_rates(yours, places, steps, warmup, peak):
    for step in places:
        rate, right = yours.learning_rate(step, steps, warmup, peak), rate_of(step, steps, warmup, peak)
        if isinstance(rate, np.ndarray) and rate.shape == (1,):
            rate = rate[0]
        named = f"learning_rate({step}, steps={steps}, warmup={warmup}, peak={peak:.4g})"
        same(named, rate, right, suspects=Later(explained, yours, rate, steps, warmup, peak))


def explained(yours, rate, steps, warmup, peak):
    """Mistakes that explain the rate of every step, as suspects of this one."""
    return dict.fromkeys(rate_mistakes(yours, steps, warmup, peak), rate)


def schedule(draw):
    """steps, warmup, peak"""
    if draw.first:
        return 100, 10, 0.002
    warmup = int(draw.integers(4, 30))
    return warmup + int(draw.integers(20, 90)), warmup, float(draw.uniform(1e-4, 1e-1))


@lesson.check(1, "rise", of="learning_rate", formula=f"rate = {RATE}")
def rise(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (1, 0, warmup // 2, warmup - 1), steps, warmup, peak)
    compare_rates(yours, (0, 1, 2), 9, 3, 1.0)
    compare_rates(yours, (7, 1500), 125000, 3125, 12.5)
    compare_rates(yours, (0,), 5, 1, peak)


@lesson.check(1, "fall", of="learning_rate", formula=f"rate = {RATE}")
def fall(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (warmup, warmup + 1, (warmup + steps) // 2, steps - 1), steps, warmup, peak)
    compare_rates(yours, (3, 4, 8), 9, 3, 1.0)
    compare_rates(yours, (3125, 50000, 124999), 125000, 3125, 12.5)
    compare_rates(yours, (1,), 2, 1, peak)


@lesson.check(0.5, "no warm-up, no end", of="learning_rate", formula=f"rate = {RATE}; 0 from step = steps on")
def edges(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (0, 1, steps - 1, steps), steps, 0, peak)
    compare_rates(yours, (0, 1), 1, 0, 1.0)
    compare_rates(yours, (4, 5), 4, 4, peak)
    compare_rates(yours, (steps, steps + 3), steps, warmup, peak)


# A batch in slices


def slices_of(draw, last_has_targets=True):
    """seed of the model, batches"""
    sizes = [(4, 9, 5), (2, 7, 3), (3, 8, 1)]        # sequences, tokens, most masked words
    if not draw.first:
        words = map(int, draw.rng.permutation([1, 3, 6]))
        sizes = [(int(draw.integers(1, 5)), int(draw.integers(6, 12)), most) for most in words]
    slices = [Given.of("a batch", int(draw.integers(0, 1000)), *size) for size in sizes]
    if not last_has_targets:
        at = draw.number % 3 - 1
        slices[at] = Given.of("a batch", *slices[at].args, False)
    return int(draw.integers(0, 1000)), slices


def compare_accumulated(yours, draw, which, last_has_targets=True):
    seed, slices = slices_of(draw, last_has_targets)
    more = [Given.of("a batch", seed, 1, 5, 2), Given.of("a batch", seed + 1, 13, 8, 4)]
    for given in (slices, slices[-1:], slices[:2] + more, slices[:2]) if last_has_targets else (slices, slices[::-1]):
        answer = yours.accumulate(Given.of("a small model", seed), given)[which]
        made = [one.make() for one in given]
        targets = float(sum(one.mlm_weights.sum() for one in made))
        sequences = float(sum(len(one.sop_labels) for one in made))
        right = combined(small_model(seed), made, totals=Totals(targets, sequences))[which]
        if isinstance(answer, np.ndarray) and answer.shape == (1,) and which == 0:
            answer = answer[0]
        known = {"number of slices": len(given), "masked words": targets, "sequences": sequences}
        suspects = Later(sum_mistakes, small_model(seed), made, which)
        same(("loss", "gradient")[which], answer, right, known=known, suspects=suspects)


WHOLE = "loss = Σ all masked words' losses / their number + Σ all sequences' losses / their number"


@lesson.check(1, "loss of all slices", of="accumulate", formula=WHOLE)
def loss_of_parts(yours, draw):
    compare_accumulated(yours, draw, 0)


@lesson.check(1.5, "gradient of all slices", of="accumulate", formula=f"the gradient of {WHOLE}")
def gradient_of_parts(yours, draw):
    compare_accumulated(yours, draw, 1)


@lesson.check(0.5, "a slice without masked words", of="accumulate", formula=f"the gradient of {WHOLE}")
def part_without_targets(yours, draw):
    compare_accumulated(yours, draw, 1, last_has_targets=False)


# The loop


def compare_curves(yours, named, model, batches, plan, right=None):
    """model: the arguments of small_model"""
    steps = plan[0]
    losses = yours.train(Given.of("a small model", *model), batches, *plan)
    as_many(losses, plan, len(batches))
    made = [batch.make() for batch in batches]
    if right is None:
        right = curve(small_model(*model), made, [rate_of(step, *plan) for step in range(steps)])
    suspects = Later(loss_mistakes, lambda: small_model(*model), made, plan)
    try:
        same(named, losses, np.array(right), suspects=suspects)
    except Wrong:
        if not right_with_own_rates(yours, losses, model, batches, plan):
            raise


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


def right_with_own_rates(yours, losses, model, batches, plan):
    """A wrong learning_rate costs its own points alone."""
    try:
        rates = numbers("rates", [yours.learning_rate(step, *plan) for step in range(plan[0])], plan[:1])
        made = [batch.make() for batch in batches]
        same("losses", losses, np.array(curve(small_model(*model), made, rates.astype(float).ravel())))
    except (Wrong, Stopped, FloatingPointError):
        return False
    return True


def run(draw):
    """seed of the model, batches, (steps, warmup, peak)"""
    seed, *seeds = (int(seed) for seed in draw.integers(0, 1000, 4))
    batches = [Given.of("a batch", seed, 4, 9, 3) for seed in seeds]
    return seed, batches, (7, 3, 0.06) if draw.first else (int(draw.integers(6, 9)), 2, float(draw.uniform(0.04, 0.1)))


def runs(draw):
    """run, then shorter ones, and one in which gradients are shorter and longer than 1, in turns."""
    seed, batches, plan = run(draw)
    yield (seed,), batches, plan
    yield (seed,), batches[:1], (3, 1, 0.05)
    yield (seed,), batches, (2, 1, 1.0)
    short = [Given.of("a batch", seed + 1, 40, 14, 9), *batches[:1]]
    yield (seed, 0.05), short, (4, 1, 0.05)
    if draw.first:
        yield (seed,), [*batches, batches[0]], (9, 1, 0.03)


LOOP = "for each step: loss and gradient, clip to norm 1, AdamW with this step's rate and t = step + 1"


@lesson.check(0.5, "one loss a step", of="train", formula="the total loss of each step's batch, before the step")
def first_losses(yours, draw):
    seed, batches, (steps, warmup, peak) = run(draw)
    for plan in ((steps, warmup, peak), (2, 1, 0.01), (11, 4, 0.01)):
        losses = as_many(yours.train(Given.of("a small model", seed), batches, *plan), plan, len(batches))
        first = small_model(seed).loss(batches[0].make())
        suspects = {
            "MLM's loss alone; the total loss is asked for": float(first.mlm),
            "SOP's loss alone; the total loss is asked for": float(first.sop),
        }  # fmt: skip
        same("the first loss", losses[0], float(first.total), suspects=suspects)


@lesson.check(2, "losses of a run", of="train", formula=LOOP)
def whole_run(yours, draw):
    for model, batches, plan in runs(draw):
        compare_curves(yours, "losses", model, batches, plan)


@lesson.check(1, "as PyTorch", of="train", formula=f"transformers' AlbertForPreTraining and torch.optim.AdamW: {LOOP}")
def outside(yours, draw):
    batches = [Given.of("a batch that nobody drew", number) for number in range(2)]
    compare_curves(yours, "losses (PyTorch's numbers)", ("ramp",), batches, (6, 2, 0.05), stored("ex11")["losses"])


# The plateau


@lesson.check(1, "plateau", of="unigram_loss", formula="-Σ p log p, p = counts / Σ counts; p = 0 adds 0")
def plateau(yours, draw):
    counts = np.array([5, 3, 1, 1, 0]) if draw.first else draw.integers(0, 50, int(draw.integers(6, 20)))
    counts[-1], counts[0] = 0, 7
    for asked in (counts, 1 + counts, 100000 * counts, 0 * counts + 4, np.array([0, 3, 0]), draw.integers(0, 9, 3000)):
        p = asked[asked > 0] / asked.sum()
        right = unigram_loss(asked)
        found = yours.unigram_loss(asked)
        if isinstance(found, np.ndarray) and found.shape == (1,):
            found = found[0]
        same("loss", found, right, suspects=Later(plateau_mistakes, asked, p, right), limit=1e-5 if right else 1e-6)
