"""Exercise 10: LAMB, clipping and the rate of a batch size. Variant: LAMB with bias correction and a clamped ratio."""

import math

import numpy as np

from minalbert.optim.clip import clip_factor, global_norm, sum_of_squares
from minalbert.optim.lamb import Lamb, lamb_tensor
from minalbert.optim.schedule import sqrt_rule

from ..compare import Wrong, same
from ..lesson import Lesson
from ..outside import numbers as stored
from ..outside import ramp
from .lamb_steps import (
    Case,
    case,
    check_exempt,
    check_moments,
    check_ratio,
    check_weights,
    check_zero,
    fits,
    number,
)

WITHHELD = (lamb_tensor, Lamb.step, global_norm, clip_factor, sum_of_squares, sqrt_rule)
STEP = "w, m, v, ratio"
lesson = Lesson(
    "ex10", "LAMB", minutes=60,
    functions={"lamb_step": STEP, "clip": "clipped, norm", "sqrt_rate": "rate"}, withheld=WITHHELD,
)  # fmt: skip
variant = Lesson(
    "ex10-corrected", "LAMB, corrected and clamped", minutes=60, variant_of="ex10",
    functions={"lamb_step": STEP, "clip": "clipped, norm", "sqrt_rate": "rate"}, withheld=WITHHELD,
)  # fmt: skip
LESSONS = [lesson, variant]

FORMULA = {
    "ex10": "u = m / (√v + ε) + λ w,  r = ‖w‖ / ‖u‖,  w ← w - rate r u",
    "ex10-corrected": "u = m̂ / (√v̂ + ε) + λ w,  r = min(‖w‖ / ‖u‖, clamp),  w ← w - rate r u",
}


def add_step(lesson, ratio, weights):
    """The checks of lamb_step; ratio, weights: points."""
    corrected, of, formula = lesson is variant, "lamb_step", FORMULA[lesson.name]

    @lesson.check(1.5, "m and v", of, "m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²")
    def moments(yours, draw):
        check_moments(yours, case(draw, corrected))

    @lesson.check(ratio, "trust ratio", of, formula)
    def trust_ratio(yours, draw):
        check_ratio(yours, case(draw, corrected))

    if corrected:

        @lesson.check(1, "clamp", of, formula)
        def clamped(yours, draw):
            check_ratio(yours, case(draw, corrected, clamp=0.1))
            check_weights(yours, case(draw, corrected, clamp=0.1))

    @lesson.check(weights, "new weights", of, formula)
    def new_weights(yours, draw):
        check_weights(yours, case(draw, corrected))
        if corrected:
            check_weights(yours, case(draw, corrected)._replace(t=1))

    @lesson.check(1, "vectors exempt", of, "w of one axis: λ = 0 and r = 1")
    def exempt(yours, draw):
        check_exempt(yours, case(draw, corrected, shape=(5 + draw.number,)))

    @lesson.check(0.5, "zero norms", of, "r = 1 if ‖w‖ or ‖u‖ is zero")
    def zero(yours, draw):
        check_zero(yours, case(draw, corrected))


def gradients(draw, scale):
    sizes = draw.sizes(A=3, B=4, C=5, least=2)
    return {
        "word": draw.normal(*sizes[:2], scale=scale),
        "bias": draw.normal(sizes[2], scale=3 * scale),
        "deep.w": draw.normal(*sizes, scale=scale),
    }


def norm(gradients):
    return math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))


def compare_clipped(clipped, grads, factor, known):
    if not isinstance(clipped, dict) or clipped.keys() != grads.keys():
        raise Wrong(f"clipped is no dict of the same names: {', '.join(grads)}")
    for name, g in grads.items():
        same(f"clipped[{name!r}]", clipped[name], factor * g, known=known)


def add_clip(lesson):
    @lesson.check(1, "clip", of="clip", formula="norm = √(Σ g²) over all tensors,  g ← g limit / norm")
    def clipped(yours, draw):
        grads, limit = gradients(draw, 2.0), 1.5
        found, whole = yours.clip(grads, limit)
        expected = norm(grads)
        number("norm", whole, expected, {
            "this is the sum of the tensors' norms": sum(norm({"": g}) for g in grads.values()),
            "the root is missing": expected**2,
            "this is the largest of the tensors' norms": max(norm({"": g}) for g in grads.values()),
            "this is the norm after clipping": limit,
        })  # fmt: skip
        for name, g in grads.items() if isinstance(found, dict) and found.keys() == grads.keys() else ():
            alone = g * min(1.0, limit / norm({"": g}))
            if fits(found[name], g) and np.allclose(found[name], alone, rtol=1e-5):
                raise Wrong(f"clipped[{name!r}] has norm {norm({'': alone}):.4g}, by itself",
                            "each tensor is clipped alone; one factor, from the norm of all, must hold for all")
        compare_clipped(found, grads, limit / expected, {"limit": limit, "norm": expected})

    @lesson.check(0.5, "small gradients", of="clip", formula="norm ≤ limit: nothing changes")
    def small(yours, draw):
        for scale in (0.01, 0.0):
            grads = gradients(draw, scale)
            limit = 10 * norm(grads) or 1.0
            found, whole = yours.clip(grads, limit)
            number("norm", whole, norm(grads))
            compare_clipped(found, grads, 1.0, {"limit / norm, which scales small gradients up": 10.0})


def add_others(lesson):
    """The check of sqrt_rate, and what both forms end with."""

    @lesson.check(0.5, "the paper's rates", of="sqrt_rate", formula="rate = reference_rate √(batch / reference_batch)")
    def rates(yours, draw):
        """You et al., 2020, table 4: 5 / (2^k 1000), k = 3, 2.5, ... 0, for batches of 512, 1024, ... 32768."""
        for doublings in range(7):
            batch, expected = 512 * 2**doublings, 5 / (2 ** (3 - doublings / 2) * 1000)
            number(f"rate for a batch of {batch}", yours.sqrt_rate(batch, 512, 0.000625), expected, {
                "the rate grows with the batch, not with its root": 0.000625 * 2**doublings,
                "the larger the batch, the larger the rate; here it falls": 0.000625 * 2 ** (-doublings / 2),
            })  # fmt: skip
        number("rate", yours.sqrt_rate(100, 400, 0.5), 0.25)

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
        yours.clip(gradients(draw, 2.0), 0.5)
        yours.untouched()


add_step(lesson, ratio=2, weights=2)
add_clip(lesson)
add_others(lesson)
add_step(variant, ratio=1.5, weights=1.5)
add_clip(variant)
add_others(variant)
