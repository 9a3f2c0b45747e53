"""The variant of exercise 11: a rate with a plateau, and an average of the weights that is measured on other texts."""

import numpy as np

from ...compare import LIMIT, same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers as stored
from ..checks import Later
from . import averaging, measured_average, training
from .averaging import compare_run_losses, plans, trained
from .recipes import TARGET, compare_losses
from .root_rates import RATES, rate_of
from .training_mistakes import explaining, places

variant = Lesson(
    "ex11-average", "training, with an average of the weights", minutes=120, variant_of="ex11",
    functions={
        "learning_rate": "rate",
        "moved_average": "average",
        "train": "losses, average",
        "held_out_loss": "loss",
        "settings": "steps, warmup, decay, peak, beta",
    },
    withheld=training.lesson.withheld,
    references={"learning_rate": rate_of, "moved_average": averaging.moved_average},
)  # fmt: skip

RATE = "peak (step + 1) / warmup, then peak, then peak (1 - √(done / decay)), done = step - (steps - decay)"
LOOP = "for each step: loss and gradient, clip to norm 1, AdamW with this step's rate and t = step + 1, the average"
MEAN = "average_t = Σ βᵗ⁻ⁱ w_i / Σ βᵗ⁻ⁱ, over the steps i = 1 to t"


def compare_rates(yours, places, *plan):
    """plan: steps, warmup, decay, peak"""
    for step in places:
        rate, right = yours.learning_rate(step, *plan), rate_of(step, *plan)
        named = "learning_rate({}, steps={}, warmup={}, decay={}, peak={:.4g})".format(step, *plan)
        suspects = Later(explained, yours, rate, *plan)
        same(named, rate, right, suspects=suspects, limit=LIMIT if right else 1e-9 * plan[-1])       # 0 is 0


def explained(yours, rate, steps, warmup, decay, peak):
    """Mistakes that explain the rates of whole plans, as suspects of this one."""
    plans = (steps, warmup, decay, peak), (9, 3, 4, 0.01), (8, 0, 3, peak)
    asked = [(step, *plan) for plan in plans for step in places(plan[0], plan[1], plan[0] - plan[2])]
    return dict.fromkeys(explaining(yours, asked, RATES, rate_of), rate)


def schedule(draw):
    """steps, warmup, decay, peak"""
    if draw.first:
        return 100, 10, 20, 0.002
    warmup, decay = (int(part) for part in draw.integers(4, 30, 2))
    return warmup + decay + int(draw.integers(5, 60)), warmup, decay, float(draw.uniform(1e-4, 1e-1))


@variant.check(0.5, "rise and plateau", of="learning_rate", formula=f"rate = {RATE}")
def rise(yours, draw):
    steps, warmup, decay, _ = plan = schedule(draw)
    compare_rates(yours, (1, 0, warmup // 2, warmup - 1, warmup, warmup + 1, steps - decay - 1), *plan)
    compare_rates(yours, (0, 2, 3, 4), 9, 3, 4, 1.0)
    compare_rates(yours, (7, 3124, 60000), 125000, 3125, 25000, 12.5)
    compare_rates(yours, (7, 3124, 60000), 125000, 3125, 25000, 1e-6)


@variant.check(1, "fall", of="learning_rate", formula=f"rate = {RATE}")
def fall(yours, draw):
    steps, _, decay, _ = plan = schedule(draw)
    compare_rates(yours, (steps - decay, steps - decay + 1, steps - decay // 2, steps - 1), *plan)
    compare_rates(yours, (5, 6, 8), 9, 3, 4, 1.0)
    compare_rates(yours, (100001, 124999), 125000, 3125, 25000, 12.5)
    compare_rates(yours, (100001, 124999), 125000, 3125, 25000, 1e-6)


@variant.check(0.5, "no rise, no fall, no end", of="learning_rate", formula=f"rate = {RATE}; 0 from step = steps on")
def edges(yours, draw):
    steps, warmup, decay, peak = schedule(draw)
    compare_rates(yours, (0, 1, steps - 1, steps), steps, 0, decay, peak)
    compare_rates(yours, (0, warmup, steps - 1, steps, steps + 3), steps, warmup, 0, peak)
    compare_rates(yours, (0, 1), 1, 0, 0, 1.0)
    compare_rates(yours, (3, 4, 5, 7, 8), 8, 4, 4, peak)
    compare_rates(yours, (0, 1, 2, 3), 3, 0, 3, peak)
    compare_rates(yours, (0, 1, 3, 4, 5, 6), 5, 1, 1, peak)


@variant.check(1.5, "average", of="moved_average", formula=MEAN)
def moved(yours, draw):
    averaging.compare_moved(yours, draw)
    yours.untouched()


@variant.check(1.5, "losses of a run", of="train", formula=LOOP)
def losses_of_a_run(yours, draw):
    for model, batches, plan in plans(draw):
        averaging.compare_losses(yours, model, batches, plan)
    averaging.compare_left(yours, draw)
    yours.untouched()


@variant.check(1.5, "average of a run", of="train", formula=f"{MEAN}, of the run's own weights")
def average_of_a_run(yours, draw):
    for model, batches, plan in plans(draw):
        averaging.compare_average(yours, model, batches, plan)


@variant.check(0.5, "as PyTorch", of="train", formula=f"torch.optim.AdamW and AveragedModel: {LOOP}")
def outside(yours, draw):
    batches = [Given.of("a batch that nobody drew", number) for number in range(2)]
    asked = ("ramp",), batches, (6, 2, 3, 0.05, 0.6)
    losses, average = trained(yours, *asked)
    compare_run_losses(yours, "losses (PyTorch's numbers)", losses, *asked, stored("ex11_average")["losses"])
    found = measured_average.held_out_of(("ramp",), np.asarray(average, float), batches)
    same("the average's held-out loss (PyTorch's number)", found, stored("ex11_average")["held_out"])


@variant.check(1, "held-out loss", of="held_out_loss", formula="Σ all masked words' losses / their number")
def held_out(yours, draw):
    measured_average.compare_held_out(yours, draw)


@variant.check(0.5, "the model as before", of="held_out_loss", formula="the model has its own weights again")
def as_before(yours, draw):
    measured_average.compare_put_back(yours, draw)


@variant.check(1.5, "a run with a target", of="settings",
               formula=f"at most {measured_average.STEPS} steps, beta at least {measured_average.LEAST}; the average's "
                       f"held-out MLM loss at most {TARGET}")  # fmt: skip
def target(yours, draw):
    plan = measured_average.checked(*yours.settings())
    named = ("trained with steps={}, warmup={}, decay={}, peak={:g}, beta={:g} on two languages, the average of a "
             "model's weights has").format(*plan)  # fmt: skip
    compare_losses(draw, named, plan, measured_average.averaged_mlm, measured_average.cause_of)
