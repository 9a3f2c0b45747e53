"""Optimisers: from a gradient to a step.

    g  ->  clip  ->  LAMB or AdamW, which keep two moments of each weight  ->  w -= rate × direction
                     the schedule gives the rate

Each optimiser is written twice in its file. `lamb_tensor` is the mathematics of one tensor. `Lamb.step` is the same
arithmetic over the whole vector, block by block, so that each number is read from memory as seldom as possible. The
two agree bit by bit, except for norms, whose sums have another order and so another last digit.

    optimiser = Lamb(weight_decay=0.01)
    moments = Moments.zeros(params)
    schedule = Schedule(peak=0.00176, steps=125_000, warmup=3125)
    for step in range(schedule.steps):
        _, grads = model.loss_and_grads(batch)
        scale = clip_factor(global_norm(grads), 1.0)
        ratios = optimiser.step(params, grads, moments, schedule.rate(step), step + 1, scale)

`optimiser.step(..., only=params.select("sop.").names)` trains those tensors and freezes all others.

Read in this order: adamw, lamb, clip, schedule, blocks.
"""

from .adamw import AdamW, adamw_tensor
from .blocks import Moments, exempt
from .clip import clip_factor, first_bad, global_norm
from .lamb import Lamb, lamb_tensor
from .schedule import SHAPES, Schedule, rate_warning, sqrt_rule
