"""Exercise 11: training. The rate of each step, a batch in slices, the loop, the plateau, a run with a target."""

import numpy as np

from minalbert.albert import Albert
from minalbert.optim import Schedule
from minalbert.parallel import Workers
from minalbert.train import pretrain
from minalbert.train.evaluation import baselines

from ...compare import LIMIT, same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers as stored
from ..checks import Later
from .accumulating import compare_accumulated, compare_again, compare_without_targets
from .loops import compare_curves, compare_first_losses, compare_left, runs
from .recipes import STEPS, TARGET, compare_held_out, compare_target, mean_mlm
from .training_mistakes import plateau_mistakes, rate_mistakes, rate_of


def unigram_loss(counts):
    share = counts[counts > 0] / counts.sum()
    return -(share * np.log(share)).sum()


lesson = Lesson(
    "ex11", "training", minutes=120,
    functions={
        "learning_rate": "rate",
        "accumulate": "loss, gradient",
        "train": "losses",
        "unigram_loss": "loss",
        "held_out_loss": "loss",
        "settings": "steps, warmup, peak",
    },
    withheld=(Schedule.rate, baselines, pretrain, Albert.accumulate, Workers.slices_of),
    references={"learning_rate": rate_of, "unigram_loss": unigram_loss, "held_out_loss": mean_mlm},
)  # fmt: skip

RATE = "peak step / warmup while step < warmup, then peak (1 - step / steps)"


# The rate


def compare_rates(yours, places, steps, warmup, peak):
    asked = [(step, steps, warmup, peak) for step in places]
    for given, rate in zip(asked, yours.each("learning_rate", asked), strict=True):
        step, right = given[0], rate_of(*given)
        if isinstance(rate, np.ndarray) and rate.shape == (1,):
            rate = rate[0]
        named = f"learning_rate({step}, steps={steps}, warmup={warmup}, peak={peak:.4g})"
        suspects = Later(explained, yours, rate, steps, warmup, peak)
        same(named, rate, right, suspects=suspects, limit=LIMIT if right else 1e-9 * peak)       # 0 is 0


def explained(yours, rate, steps, warmup, peak):
    """Mistakes that explain the rate of every step, as suspects of this one."""
    return dict.fromkeys(rate_mistakes(yours, steps, warmup, peak), rate)


def schedule(draw):
    """steps, warmup, peak"""
    if draw.first:
        return 100, 10, 0.002
    warmup = int(draw.integers(4, 30))
    return warmup + int(draw.integers(20, 90)), warmup, float(draw.uniform(1e-4, 1e-1))


@lesson.check(0.5, "rise", of="learning_rate", formula=f"rate = {RATE}")
def rise(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (1, 0, warmup // 2, warmup - 1), steps, warmup, peak)
    compare_rates(yours, (0, 1, 2), 9, 3, 1.0)
    compare_rates(yours, (7, 1500), 125000, 3125, 12.5)
    compare_rates(yours, (7, 1500), 125000, 3125, 1e-6)
    compare_rates(yours, (0,), 5, 1, peak)


@lesson.check(1, "fall", of="learning_rate", formula=f"rate = {RATE}")
def fall(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (warmup, warmup + 1, (warmup + steps) // 2, steps - 1), steps, warmup, peak)
    compare_rates(yours, (3, 4, 8), 9, 3, 1.0)
    compare_rates(yours, (3125, 50000, 124999), 125000, 3125, 12.5)
    compare_rates(yours, (50000, 124999), 125000, 3125, 1e-6)
    compare_rates(yours, (1,), 2, 1, peak)


@lesson.check(0.5, "no warm-up, no end", of="learning_rate", formula=f"rate = {RATE}; 0 from step = steps on")
def edges(yours, draw):
    steps, warmup, peak = schedule(draw)
    compare_rates(yours, (0, 1, steps - 1, steps), steps, 0, peak)
    compare_rates(yours, (0, 1), 1, 0, 1.0)
    compare_rates(yours, (1, 3, 4, 5), 4, 4, peak)
    compare_rates(yours, (0, 1), 1, 1, peak)
    compare_rates(yours, (steps, steps + 3), steps, warmup, peak)


# A batch in slices


WHOLE = "loss = Σ all masked words' losses / their number + Σ all sequences' losses / their number"


@lesson.check(0.5, "loss of all slices", of="accumulate", formula=WHOLE)
def loss_of_parts(yours, draw):
    compare_accumulated(yours, draw, 0)
    compare_again(yours, draw)
    yours.untouched()


@lesson.check(1.5, "gradient of all slices", of="accumulate", formula=f"the gradient of {WHOLE}")
def gradient_of_parts(yours, draw):
    compare_accumulated(yours, draw, 1)


@lesson.check(0.5, "a slice without masked words", of="accumulate", formula=f"the gradient of {WHOLE}")
def part_without_targets(yours, draw):
    compare_without_targets(yours, draw)


# The loop

LOOP = "for each step: loss and gradient, clip to norm 1, AdamW with this step's rate and t = step + 1"


@lesson.check(0.5, "one loss a step", of="train", formula="the total loss of each step's batch, before the step")
def first_losses(yours, draw):
    compare_first_losses(yours, draw)


@lesson.check(1.5, "losses of a run", of="train", formula=LOOP)
def whole_run(yours, draw):
    compare_left(yours, draw)                        # a first run, and what it leaves
    _, *others = runs(draw)
    for asked in others:
        compare_curves(yours, "losses", *asked)
    yours.untouched()


@lesson.check(0.5, "as PyTorch", of="train", formula=f"as AlbertForPreTraining with torch.optim.AdamW: {LOOP}")
def outside(yours, draw):
    batches = [Given.of("a batch that nobody drew", number) for number in range(2)]
    compare_curves(yours, "losses (PyTorch's numbers)", ("ramp",), batches, (6, 2, 0.05), stored("ex11")["losses"])


# The plateau


@lesson.check(0.5, "plateau", of="unigram_loss", formula="-Σ p log p, p = counts / Σ counts; p = 0 adds 0")
def plateau(yours, draw):
    counts = np.array([5, 3, 1, 1, 0]) if draw.first else draw.integers(0, 50, int(draw.integers(6, 20)))
    counts[-1], counts[0] = 0, 7
    for asked in (counts, 1 + counts, 100000 * counts, 0 * counts + 4, np.array([0, 3, 0]), draw.integers(0, 9, 3000),
                  counts.astype(float), 10**9 * counts):  # fmt: skip
        p = asked[asked > 0] / asked.sum()
        right = unigram_loss(asked)
        found = one_number(yours.unigram_loss(asked))
        same("loss", found, right, suspects=Later(plateau_mistakes, asked, p, right), limit=1e-5 if right else 1e-6)
    counts = np.append(np.ones(5000, int), 2 * 10**8)  # in float32 their sum loses some digits
    share, found = counts[-1] / counts.sum(), one_number(yours.unigram_loss(counts))
    left_out = {"rare words are left out; each that occurs adds to the sum": -share * np.log(share)}
    same("loss where one word is common and many are rare", found, unigram_loss(counts), suspects=left_out, limit=0.1)
    yours.untouched()


def one_number(found):
    return found[0] if isinstance(found, np.ndarray) and found.shape == (1,) else found


# A run with a target


@lesson.check(1, "held-out loss", of="held_out_loss", formula="Σ all masked words' losses / their number")
def held_out(yours, draw):
    compare_held_out(yours, draw)


@lesson.check(1.5, "a run with a target", of="settings",
              formula=f"at most {STEPS} steps, and a held-out MLM loss of at most {TARGET}")  # fmt: skip
def target(yours, draw):
    compare_target(yours, draw)
