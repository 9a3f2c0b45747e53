"""The rate of exercise 11's variant, which falls by a root, and what mistakes make of it: {mistake: rate}"""


import numpy as np

from minalbert.optim import Schedule


def rate_of(step, steps, warmup, decay, peak):
    rise = min(1.0, (step + 1) / max(warmup, 1))
    fall = 1 - (max(0, step - steps + decay) / max(decay, 1)) ** 0.5
    return peak * rise * fall if step < steps else 0.0


def otherwise_in_the_fall(way):
    """The rate with way(share of the fall that is done) in the fall."""
    return lambda step, steps, warmup, decay, peak: (
        peak * way((step - steps + decay) / decay) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak))  # fmt: skip


def otherwise_in_the_rise(way):
    return lambda step, steps, warmup, decay, peak: (
        peak * way(step, warmup) if step < warmup else rate_of(step, steps, warmup, decay, peak))  # fmt: skip


RATES = {
    "the fall is a straight line; it is 1 - √((step - (steps - decay)) / decay)": otherwise_in_the_fall(
        lambda done: 1 - done),
    "the fall has a square where a root is meant": otherwise_in_the_fall(lambda done: 1 - done**2),
    "the root is of what is left of the fall; it is 1 - √(done / decay)": otherwise_in_the_fall(
        lambda done: (1 - done) ** 0.5),
    "the fall is √(done / decay); it is 1 less that": otherwise_in_the_fall(lambda done: done**0.5),
    "the fall begins a step too late: step - d - 1 stands where step - d must": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, decay, peak) if step <= steps - decay or step >= steps else
        peak * (1 - ((step - steps + decay - 1) / decay) ** 0.5),
    "the fall is a cosine": otherwise_in_the_fall(lambda done: (1 + np.cos(np.pi * done)) / 2),
    "the rise is step / warmup; the first update has peak / warmup": otherwise_in_the_rise(
        lambda step, warmup: step / warmup),
    "the rise is divided by warmup + 1": otherwise_in_the_rise(lambda step, warmup: (step + 1) / (warmup + 1)),
    "the rise is left out": otherwise_in_the_rise(lambda step, warmup: 1.0),
    "the fall is left out: the rate stays at its peak": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, 0, peak),
    "the fall begins a step too early": lambda step, steps, warmup, decay, peak:
        rate_of(step + (warmup <= step < steps), steps, warmup, decay, peak),
    "the fall begins at step = decay; decay is the number of its steps": lambda step, steps, warmup, decay, peak:
        rate_of(step, steps, warmup, steps - decay, peak),
    "the fall ends a step too early: it is divided by decay - 1": lambda step, steps, warmup, decay, peak:
        peak * (1 - ((step - steps + decay) / max(decay - 1, 1)) ** 0.5) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "the first step of the fall has the peak rate, too": lambda step, steps, warmup, decay, peak:
        peak if step == steps - decay + 1 < steps else rate_of(step, steps, warmup, decay, peak),
    "while the rate falls it is that of the next step": lambda step, steps, warmup, decay, peak:
        rate_of(step + (steps - decay < step), steps, warmup, decay, peak),
    "the rise goes on at step = warmup, where the plateau begins": lambda step, steps, warmup, decay, peak:
        peak * (step + 1) / warmup if warmup and step <= warmup and step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "the fall is divided by steps; it must be by decay": lambda step, steps, warmup, decay, peak:
        peak * (1 - ((step - steps + decay) / steps) ** 0.5) if steps - decay < step < steps else
        rate_of(step, steps, warmup, decay, peak),
    "where there is no fall, the rate at step = steps is the peak; it is 0": lambda step, steps, warmup, decay, peak:
        peak if step == steps and not decay else rate_of(step, steps, warmup, decay, peak),
    "where there is no fall, the rate stays at its peak; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak:
        peak if step >= steps and not decay else rate_of(step, steps, warmup, decay, peak),
    "after the last step the rate stays at its peak; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak: peak if step >= steps else rate_of(step, steps, warmup, decay, peak),
    "after the last step the rate falls below 0; from step = steps on it is 0":
        lambda step, steps, warmup, decay, peak: peak * (1 - ((step - steps + decay) / decay) ** 0.5)
        if step > steps - decay else rate_of(step, steps + 1, warmup, 0, peak),
    "the rate is ALBERT's: a rise from 0, and a fall from the first step on": lambda step, steps, warmup, decay, peak:
        Schedule(peak, steps, warmup).rate(step),
    "the peak is left out": lambda step, steps, warmup, decay, peak: rate_of(step, steps, warmup, decay, 1.0),
}  # fmt: skip
