"""Exercise 10: LAMB, clipping and the rate of a batch size. Variant: LAMB with bias correction and a clamped ratio."""

import math

import numpy as np

from minalbert.optim.clip import clip_factor, global_norm, sum_of_squares
from minalbert.optim.lamb import Lamb, lamb_tensor
from minalbert.optim.schedule import sqrt_rule

from ...compare import Wrong, same
from ...lesson import Lesson
from ...outside import numbers as stored
from ...outside import ramp
from .clipping import add_clip, clip, compare_one_array, gradients
from .lamb_steps import (
    Case,
    case,
    check_exempt,
    check_moments,
    check_ratio,
    check_weights,
    check_zero,
    fits,
    in_each,
    number,
)

WITHHELD = (lamb_tensor, Lamb.step, global_norm, clip_factor, sum_of_squares, sqrt_rule)


def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp=None):
    return lamb_tensor(w, g, m, v, rate, t, betas, eps, weight_decay, bias_correction=clamp is not None, clamp=clamp)


def sqrt_rate(batch, reference_batch, reference_rate):
    return reference_rate * math.sqrt(batch / reference_batch)


REFERENCES = {"lamb_step": lamb_step, "sqrt_rate": sqrt_rate}
STEP = "w, m, v, ratio"
lesson = Lesson(
    "ex10", "LAMB", minutes=60,
    functions={"lamb_step": STEP, "clip": "clipped, norm", "sqrt_rate": "rate"}, withheld=WITHHELD,
    references=REFERENCES, usual_references={"clip": clip},
    own_results=("lamb_step",),
)  # fmt: skip
variant = Lesson(
    "ex10-corrected", "LAMB, corrected and clamped", minutes=60, variant_of="ex10",
    functions={"lamb_step": STEP, "clip": "clipped, norm", "sqrt_rate": "rate"}, withheld=WITHHELD,
    references=REFERENCES, usual_references={"clip": clip},
    own_results=("lamb_step",),
)  # fmt: skip

FORMULA = {
    "ex10": "u = m / (√v + ε) + λ w,  r = ‖w‖ / ‖u‖,  w ← w - rate r u",
    "ex10-corrected": "u = m̂ / (√v̂ + ε) + λ w,  r = min(‖w‖ / ‖u‖, clamp),  w ← w - rate r u",
}


def add_step(lesson, ratio, weights):
    """The checks of lamb_step; ratio, weights: points."""
    corrected, of, formula = lesson is variant, "lamb_step", FORMULA[lesson.name]

    @lesson.check(1.5, "m and v", of, "m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²")
    def moments(yours, draw):
        in_each(yours, draw, corrected, check_moments)

    @lesson.check(ratio, "trust ratio", of, formula)
    def trust_ratio(yours, draw):
        in_each(yours, draw, corrected, check_ratio)

    if corrected:

        @lesson.check(1, "clamp", of, formula)
        def clamped(yours, draw):
            for clamp in (3.0, 20.0, 0.1, 0.01, 0.7, 1.0):
                s = case(draw, corrected, clamp=clamp)
                for scaled in (s._replace(w=scale * s.w) for scale in (1.0, 0.3, 10.0)):
                    for check in (check_ratio, check_weights):
                        check(scaled, yours.lamb_step(*scaled.asked()))

    @lesson.check(weights, "new weights", of, formula)
    def new_weights(yours, draw):
        in_each(yours, draw, corrected, check_weights)

    @lesson.check(1, "vectors exempt", of, "w of one axis: λ = 0 and r = 1")
    def exempt(yours, draw):
        in_each(yours, draw, corrected, check_exempt, vector=True)
        if corrected:
            s = case(draw, corrected, shape=(5,), clamp=0.1)
            check_exempt(s, yours.lamb_step(*s.asked()))

    @lesson.check(0.5, "zero norms", of, "r = 1 if ‖w‖ or ‖u‖ is zero", counts_alone=False)
    def zero(yours, draw):
        check_zero(yours, case(draw, corrected))


def rate_mistakes(batch, reference, rate):
    grown = batch / reference
    smaller = {"a batch smaller than the reference has the reference's rate": rate} if grown < 1 else {}
    return smaller | {
        "the rate grows with the batch, not with its root": rate * grown,
        "the larger the batch, the larger the rate; here it falls": rate / math.sqrt(grown),
        "the rate is the reference's: the batch is not used": rate,
        "the reference rate is not used": math.sqrt(grown),
        "the reference batch is not used": rate * math.sqrt(batch),
        "the batch is divided, and its quotient cut to a whole number": rate * math.sqrt(batch // reference),
        "the quotient is rounded to a power of two": rate * math.sqrt(2.0 ** round(math.log2(grown))),
        "the root is of the rate, too": math.sqrt(rate * grown),
        "the rate grows with the square of the batch": rate * grown**2,
        "the rate grows with the cube root of the batch": rate * grown ** (1 / 3),
        "the two batches are multiplied; they must be divided": rate * math.sqrt(batch * reference),
        "the root is divided by the rate": math.sqrt(grown) / rate,
        "the root is added to the rate": math.sqrt(grown) + rate,
    }


def add_others(lesson):
    """The check of sqrt_rate, and what both forms end with."""

    @lesson.check(0.5, "the paper's rates", of="sqrt_rate", formula="rate = reference_rate √(batch / reference_batch)")
    def rates(yours, draw):
        """You et al., 2020, table 4: 5 / (2^k 1000), k = 3, 2.5, ... 0, for batches of 512, 1024, ... 32768."""
        for doublings in (1, 2, 3, 4, 5, 6, 0):      # where nothing is 1, first
            batch, expected = 512 * 2**doublings, 5 / (2 ** (3 - doublings / 2) * 1000)
            number(f"rate for a batch of {batch}", yours.sqrt_rate(batch, 512, 0.000625), expected,
                   rate_mistakes(batch, 512, 0.000625))  # fmt: skip
        others = ((100, 400, 0.5), (13, 4, 12.0), (1, 5000, 1.0), (640, 1, 2.5), (9, 5, 5000.0), (512, 256, 0.001),
                  (4096, 512, 0.002), (32768, 8192, 0.01))  # fmt: skip
        for batch, reference, rate in others:
            found = yours.sqrt_rate(batch, reference, rate)
            number(f"rate for a batch of {batch}, where {reference} has {rate:g}", found,
                   rate * math.sqrt(batch / reference), rate_mistakes(batch, reference, rate))  # fmt: skip

    @lesson.check(0.5, "as optax", of="lamb_step", formula="optax.lamb for a matrix, optax.adam for a vector")
    def outside(yours, draw):
        found = stored(lesson.name.replace("-", "_"))
        for name, shape, decay in (("matrix", (3, 4), 0.01), ("vector", (5,), 0.01)):
            w, m, v = ramp(*shape, start=1), np.zeros(shape), np.zeros(shape)
            for t in (1, 2, 3):
                s = Case(w, ramp(*shape, start=10 * t), m, v, 0.05, t, (0.9, 0.999), 1e-3, decay,
                         1e6 if lesson is variant else None)  # fmt: skip
                w, m, v, _ = yours.lamb_step(*s.asked())
                if not all(fits(part, s.w) for part in (w, m, v)):
                    raise Wrong(f"after step {t}, w, m or v is no array of finite numbers of shape {shape}")
                w, m, v = (np.asarray(part, float) for part in (w, m, v))
            same(f"w after three steps (a {name}; optax's)", w, found[name])

    @lesson.check(0.5, "inputs untouched", of="lamb_step")
    def purity(yours, draw):
        yours.lamb_step(*case(draw, lesson is variant).asked())
        yours.lamb_step(*case(draw, lesson is variant, shape=(5,)).asked())
        yours.lamb_step(*case(draw, lesson is variant)._replace(betas=(0.0, 0.0)).asked())
        yours.clip(gradients(draw, 2.0), 0.5)
        yours.untouched()
        if "clip" not in yours.failed:
            compare_one_array(yours, draw)


add_step(lesson, ratio=2, weights=2)
add_clip(lesson)
add_others(lesson)
add_step(variant, ratio=1.5, weights=1.5)
add_clip(variant)
add_others(variant)
