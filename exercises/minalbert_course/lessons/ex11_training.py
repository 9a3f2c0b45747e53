"""Exercise 11: training. The rate of each step, a batch in slices, the loop, and the plateau."""

import numpy as np

from minalbert.model.pretraining import Totals
from minalbert.optim import Schedule
from minalbert.train.assemble import pretrain
from minalbert.train.evaluation import baselines

from ..compare import Wrong, numbers, same
from ..given import Given
from ..lesson import Lesson
from ..outside import numbers as stored
from ..yours import Stopped
from .small_training import combined, curve, loss_mistakes, mistaken, rate_of, small_model

lesson = Lesson(
    "ex11", "training", minutes=90,
    functions={
        "learning_rate": "rate",
        "accumulate": "loss, gradient",
        "train": "losses",
        "unigram_loss": "loss",
    },
    withheld=(Schedule.rate, baselines, pretrain),
)  # fmt: skip
LESSONS = [lesson]

RATE = "peak step / warmup while step < warmup, then peak (1 - step / steps)"


# The rate


def compare_rates(yours, places, steps, warmup, peak):
    for step in places:
        rate, right = yours.learning_rate(step, steps, warmup, peak), rate_of(step, steps, warmup, peak)
        suspects = {
            "the rate of the next step: steps count from 0, the first one's rate is 0":
                rate_of(step + 1, steps, warmup, peak),
            "the fall is counted from the end of the warm-up; ALBERT's counts from step 0, so the rate drops where "
            "the warm-up ends": peak * (steps - step) / max(steps - warmup, 1),
            "the fall is left out: the rate stays at its peak": peak,
            "there is no warm-up: the fall alone": peak * (1 - step / steps),
            "the rise is multiplied by the fall; while step < warmup there is the rise alone":
                peak * step / max(warmup, 1) * (1 - step / steps),
            "rise and fall are told apart the wrong way round": peak * step / max(warmup, 1),
        }  # fmt: skip
        named = f"learning_rate({step}, steps={steps}, warmup={warmup}, peak={peak:.4g})"
        same(named, rate, right, suspects={says: [value] for says, value in suspects.items() if value != right})


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


@lesson.check(1, "fall", of="learning_rate", formula=f"rate = {RATE}")
def fall(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (warmup, warmup + 1, (warmup + steps) // 2, steps - 1), steps, warmup, peak)


@lesson.check(0.5, "no warm-up, no end", of="learning_rate", formula=f"rate = {RATE}; 0 from step = steps on")
def edges(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (0, 1), steps, 0, peak)
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
        slices[-1] = Given.of("a batch", *slices[-1].args, False)
    return int(draw.integers(0, 1000)), slices


def compare_accumulated(yours, draw, which, last_has_targets=True):
    seed, slices = slices_of(draw, last_has_targets)
    answer = yours.accumulate(Given.of("a small model", seed), slices)[which]
    slices = [one.make() for one in slices]
    targets = float(sum(one.mlm_weights.sum() for one in slices))
    sequences = float(sum(len(one.sop_labels) for one in slices))
    right = combined(seed, slices, totals=Totals(targets, sequences))[which]
    known = {"number of slices": len(slices), "masked words": targets, "sequences": sequences}
    same(("loss", "gradient")[which], answer, right, known=known, suspects=mistaken(seed, slices, which))


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


def compare_curves(yours, named, seed, batches, plan, right=None):
    steps = plan[0]
    losses = yours.train(Given.of("a small model", seed), batches, *plan)
    batches = [batch.make() for batch in batches]
    if right is None:
        right = curve(small_model(seed), batches, [rate_of(step, *plan) for step in range(steps)])
    suspects = loss_mistakes(lambda: small_model(seed), batches, plan)
    try:
        same(named, losses, np.array(right), suspects=suspects)
    except Wrong:
        if not right_with_own_rates(yours, losses, seed, batches, plan):
            raise


def right_with_own_rates(yours, losses, seed, batches, plan):
    """A wrong learning_rate costs its own points alone."""
    try:
        rates = numbers("rates", [yours.learning_rate(step, *plan) for step in range(plan[0])], plan[:1])
        same("losses", losses, np.array(curve(small_model(seed), batches, rates.astype(float).ravel())))
    except (Wrong, Stopped, FloatingPointError):
        return False
    return True


def run(draw):
    """seed of the model, batches, (steps, warmup, peak)"""
    seed, *seeds = (int(seed) for seed in draw.integers(0, 1000, 4))
    batches = [Given.of("a batch", seed, 4, 9, 3) for seed in seeds]
    return seed, batches, (7, 3, 0.06) if draw.first else (int(draw.integers(6, 9)), 2, float(draw.uniform(0.04, 0.1)))


LOOP = "for each step: loss and gradient, clip to norm 1, AdamW with this step's rate and t = step + 1"


@lesson.check(0.5, "one loss a step", of="train", formula="the total loss of each step's batch, before the step")
def first_losses(yours, draw):
    seed, batches, plan = run(draw)
    losses = numbers("losses", yours.train(Given.of("a small model", seed), batches, *plan), plan[:1])
    if losses.shape != plan[:1]:
        raise Wrong(f"losses has shape {losses.shape}; it must be {plan[:1]}, one for each step")
    same("the first loss", losses[0], float(small_model(seed).loss(batches[0].make()).total))


@lesson.check(2, "losses of a run", of="train", formula=LOOP)
def whole_run(yours, draw):
    compare_curves(yours, "losses", *run(draw))


@lesson.check(1, "as PyTorch", of="train", formula=f"transformers' AlbertForPreTraining and torch.optim.AdamW: {LOOP}")
def outside(yours, draw):
    batches = [Given.of("a batch that nobody drew", number) for number in range(2)]
    compare_curves(yours, "losses (PyTorch's numbers)", "ramp", batches, (6, 2, 0.05), stored("ex11")["losses"])


# The plateau


@lesson.check(1, "plateau", of="unigram_loss", formula="-Σ p log p, p = counts / Σ counts; p = 0 adds 0")
def plateau(yours, draw):
    counts = np.array([5, 3, 1, 1, 0]) if draw.first else draw.integers(0, 50, int(draw.integers(6, 20)))
    counts[-1], counts[0] = 0, 7
    p = counts[counts > 0] / counts.sum()
    right = -(p * np.log(p)).sum()
    suspects = {
        "the logarithm is to base 2; losses are in natural logarithms": [right / np.log(2)],
        "the mean over words instead of the sum": [right / len(counts)],
        "the mean over words of -log p; each word must weigh as much as it occurs": [-np.log(p).mean()],
        "the loss of guessing all words alike, log V": [np.log(len(counts))],
        "counts, not frequencies, are in the sum": [-(counts[counts > 0] * np.log(p)).sum()],
    }
    same("loss", yours.unigram_loss(counts), right, suspects=suspects)
