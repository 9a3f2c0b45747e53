"""The learning rate, step by step."""

import itertools
import math

import pytest

from minalbert.errors import ConfigError
from minalbert.optim import SHAPES, Schedule, rate_warning, sqrt_rule

RELEASED = Schedule(peak=0.00176, steps=125_000, warmup=3125)


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (0, 0.0),
        (1, 5.632e-7),
        (1562, 8.797e-4),
        (3124, 1.7594e-3),
        (3125, 1.7160e-3),
        (62_500, 8.8e-4),
        (124_999, 1.408e-8),
        (125_000, 0.0),
        (200_000, 0.0),
    ],
)
def test_the_released_rates_are_those_of_alberts_code(step, rate):
    assert RELEASED.rate(step) == pytest.approx(rate, rel=5e-5, abs=1e-18)


def test_the_released_peak_is_never_applied():
    rates = [RELEASED.rate(step) for step in range(RELEASED.steps)]
    assert max(rates) == rates[3124] == pytest.approx(0.00176 * 3124 / 3125)
    assert max(rates[3125:]) == rates[3125] == pytest.approx(0.00176 * (1 - 1 / 40))
    assert rates[0] == 0.0


def test_without_warm_up_the_fall_begins_at_the_peak():
    schedule = Schedule(peak=0.5, steps=4)
    assert [schedule.rate(step) for step in range(5)] == [0.5, 0.375, 0.25, 0.125, 0.0]


def test_a_cosine_begins_above_zero_reaches_the_peak_and_falls_to_zero():
    schedule = Schedule(peak=1.0, steps=14, warmup=4, shape="cosine")
    rates = [schedule.rate(step) for step in range(16)]
    assert rates[:5] == [0.2, 0.4, pytest.approx(0.6), 0.8, 1.0]
    assert rates[9] == pytest.approx(0.5)  # half of the way down
    assert rates[7] == pytest.approx(0.5 * (1 + math.cos(0.3 * math.pi)))
    assert all(later < before for before, later in itertools.pairwise(rates[4:15]))
    assert rates[13] > 0
    assert rates[14:] == [0.0, 0.0]


def test_a_constant_rate_rises_and_stays():
    schedule = Schedule(peak=1.0, steps=10, warmup=3, shape="constant")
    assert [schedule.rate(step) for step in (0, 1, 2, 3, 9, 10, 99)] == [0.25, 0.5, 0.75, 1, 1, 1, 1]


@pytest.mark.parametrize("shape", SHAPES)
def test_by_the_clock_the_schedule_is_read_where_the_time_stands(shape):
    schedule = Schedule(peak=1.0, steps=200, warmup=20, shape=shape)
    for step in (0, 10, 20, 100, 199, 200):
        assert schedule.rate(7, time_fraction=step / 200) == pytest.approx(schedule.rate(step), abs=1e-15)
    assert 0 < schedule.rate(0, time_fraction=0.0001) < 0.1
    over = 1.0 if shape == "constant" else 0.0
    assert schedule.rate(3, time_fraction=1.0) == schedule.rate(3, time_fraction=1.5) == over


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("warmup", [0, 1, 5])
def test_every_rate_is_between_zero_and_the_peak(shape, warmup):
    schedule = Schedule(peak=2.0, steps=5, warmup=warmup, shape=shape)
    assert all(0 <= schedule.rate(step) <= 2.0 for step in range(7))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"peak": -0.1}, "peak is -0.1; it must be a number, at least 0"),
        ({"peak": math.nan}, "peak is nan"),
        ({"steps": 0}, "steps is 0; it must be a whole number, at least 1"),
        ({"steps": 10.0}, "steps is 10.0; it must be a whole number"),
        ({"warmup": -1}, "warmup is -1; it must be a whole number, at least 0"),
        ({"warmup": 11}, "warmup is 11; it must be at most the 10 steps of the run"),
        ({"shape": "step"}, "shape is 'step'; it must be one of: linear, cosine, constant"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        Schedule(**{"peak": 0.1, "steps": 10} | settings)


@pytest.mark.parametrize(
    ("batch", "rate"), [(4096, 1.7678e-3), (2048, 1.25e-3), (1024, 8.839e-4), (512, 6.25e-4), (256, 4.419e-4)]
)
def test_the_rate_goes_with_the_root_of_the_batch(batch, rate):
    assert sqrt_rule(batch) == pytest.approx(rate, rel=1e-4)
    assert sqrt_rule(4 * batch, reference_batch=batch, reference_rate=0.3) == pytest.approx(0.6)


def test_a_rate_for_large_batches_is_warned_of_at_small_ones():
    said = rate_warning(0.00176, 64)
    assert "a learning rate of 0.00176 suits batches of 4096; for batches of 64" in said
    assert "√batch rule gives 0.00022" in said
    assert "the loss jumps" in said
    assert "plateau" in said


@pytest.mark.parametrize(("rate", "batch"), [(0.00176, 4096), (0.00176, 1024), (2.2e-4, 64), (0.0, 1), (8.8e-4, 512)])
def test_a_fitting_rate_is_not_warned_of(rate, batch):
    assert rate_warning(rate, batch) is None
