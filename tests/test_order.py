"""The order of an epoch: a permutation, another one each epoch, reached anywhere at once; and the draws below it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_corpora import believable

from minalbert.data.order import instances_at
from minalbert.data.random_draws import Choice, below, bits, chance, keys, lower


@given(count=st.integers(1, 3000), seed=st.integers(0, 2**64), epoch=st.integers(0, 100))
def test_every_instance_comes_once(count, seed, epoch):
    order = instances_at(np.arange(count), count, seed, epoch)
    assert np.array_equal(np.sort(order), np.arange(count))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 65_537])
def test_sizes_about_a_power_of_two(count):
    assert len(np.unique(instances_at(np.arange(count), count, 1, 2))) == count


def test_a_place_is_reached_without_those_before():
    count = 10**12
    positions = np.array([0, 1, 10**11, count - 1])
    together = instances_at(positions, count, 3, 4)
    alone = [int(instances_at([position], count, 3, 4)[0]) for position in positions]
    assert together.tolist() == alone
    assert together.max() < count
    assert together.min() >= 0


def test_seeds_and_epochs_have_their_own_order():
    orders = [instances_at(np.arange(1000), 1000, seed, epoch) for seed in range(3) for epoch in range(3)]
    for i, one in enumerate(orders):
        for other in orders[:i]:
            assert np.count_nonzero(one == other) < 12  # as two shuffles share: one place on average


def test_neighbours_are_strangers():
    order = instances_at(np.arange(100_000), 100_000, 0, 0).astype(float)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(order, np.arange(100_000))[0, 1]) < 0.02


def test_draws_are_uniform_and_their_halves_are_two_draws():
    drawn = bits(keys(7, 0, np.arange(60_000)), Choice.SPLIT)
    first, second = below(drawn, 6), below(lower(drawn), 6)
    for face in range(6):
        assert believable(int((first == face).sum()), 60_000, 1 / 6)
        assert believable(int((second == face).sum()), 60_000, 1 / 6)
    assert believable(int((first == second).sum()), 60_000, 1 / 6)
    assert believable(int(chance(drawn, 0.9).sum()), 60_000, 0.9)


def test_every_part_of_an_address_matters():
    base = bits(keys(1, 2, np.arange(8)), Choice.SWAP, 3)
    others = [
        bits(keys(2, 2, np.arange(8)), Choice.SWAP, 3),
        bits(keys(1, 3, np.arange(8)), Choice.SWAP, 3),
        bits(keys(1, 2, np.arange(1, 9)), Choice.SWAP, 3),
        bits(keys(1, 2, np.arange(8)), Choice.SPLIT, 3),
        bits(keys(1, 2, np.arange(8)), Choice.SWAP, 4),
    ]
    for other in others:
        assert not (base == other).any()


def test_what_a_seed_means_does_not_change():
    """Other numbers here would mean other data for every run that was ever made."""
    assert [int(x) for x in bits(keys(0, 0, np.arange(2)), Choice.SPAN)] == [9867573004588954808, 8375773095721663057]
    assert instances_at(np.arange(6), 6, 0, 0).tolist() == [3, 1, 2, 4, 0, 5]
