"""The door to the GPU, and random numbers that know their place."""

import numpy as np
import pytest
from fingerprint import fingerprint

from minalbert import DropoutKey
from minalbert.backend import add_rows, cuda_missing, dropout_mask, scatter_add, to_device, to_host
from minalbert.errors import DeviceError

X = np.zeros((6, 5, 7), np.float32)


def mask_at(**place):
    return dropout_mask(X, 0.3, DropoutKey(seed=11).at(**place))[0]


def test_one_place_one_mask():
    assert np.array_equal(mask_at(), mask_at())
    for place in ({"seed": 12}, {"step": 1}, {"layer": 1}, {"site": 1}, {"example": 1}):
        assert not np.array_equal(mask_at(), mask_at(**place)), place


def test_a_part_of_a_slice_draws_its_part_of_the_mask():
    whole = mask_at(example=4)
    for start, stop in ((0, 2), (2, 3), (3, 6)):
        part, _ = dropout_mask(X[start:stop], 0.3, DropoutKey(seed=11, example=4), first=start)
        assert np.array_equal(part, whole[start:stop])


def test_slices_share_no_counter(monkeypatch):
    """Whatever their lengths: example 6 begins another slice than example 0, whose seventh it could have been."""
    counters, philox = [], np.random.Philox

    def noting(key, counter):
        counters.append(counter.tolist())
        return philox(key=key, counter=counter)

    monkeypatch.setattr(np.random, "Philox", noting)
    dropout_mask(np.zeros((6, 40)), 0.3, DropoutKey(seed=11, layer=2, site=3))
    dropout_mask(np.zeros((6, 16)), 0.3, DropoutKey(seed=11, layer=2, site=3, example=6))
    dropout_mask(np.zeros((2, 16)), 0.3, DropoutKey(seed=11, layer=2, site=3, example=6), first=4)
    assert counters == [[0, 0, 2, 3], [0, 6, 2, 3], [4, 6, 2, 3]]


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_as_many_are_dropped_as_the_rate_says(rate):
    keep, scale = dropout_mask(np.zeros((8, 50_000)), rate, DropoutKey(seed=3))
    assert keep.mean() == pytest.approx(1 - rate, abs=4 * np.sqrt(rate * (1 - rate) / keep.size))
    assert scale == pytest.approx(1 / (1 - rate), rel=1e-4)
    assert abs(np.corrcoef(keep[0], keep[1])[0, 1]) < 0.02


def test_masks_are_those_of_numpys_philox():
    """So that any other implementation of Philox4x64-10 can draw them."""
    words = np.random.Philox(key=[11, 2], counter=[0, 4, 5, 1]).random_raw(3 * 4 * 2)
    expected = words.view(np.uint16).reshape(2, 48)[:, :35] >= round(0.3 * 65536)
    keep, _ = dropout_mask(X[:2], 0.3, DropoutKey(seed=11, step=2, layer=5, site=1, example=4))
    assert np.array_equal(keep.reshape(2, 35), expected)


def test_every_seed_is_another_mask():
    seeds = (0, 1, 2**53, 2**53 + 1, 2**63, 2**63 + 1, 2**64 - 1)
    masks = {fingerprint(dropout_mask(X, 0.5, DropoutKey(seed))[0]) for seed in seeds}
    assert len(masks) == len(seeds)


@pytest.mark.parametrize("key", [DropoutKey(-1), DropoutKey(2**64), DropoutKey(0, step=-1)])
def test_a_place_outside_the_counter_is_refused(key):
    with pytest.raises(ValueError, match="each number must be from 0 to"):
        dropout_mask(X, 0.5, key)


def test_a_rate_just_below_one_keeps_a_little():
    keep, scale = dropout_mask(np.zeros((4, 100_000)), 0.9999999, DropoutKey(0))
    assert scale == 65536
    assert 0 < keep.sum() < 40


def test_an_impossible_rate_is_refused():
    with pytest.raises(ValueError, match=r"dropout rate is 1.0"):
        dropout_mask(X, 1.0, DropoutKey(0))


def test_scatter_adds_what_comes_twice(device):
    rows = to_device(np.array([[1, 1], [3, 1]]), device)
    updates = to_device(np.ones((2, 2, 2), np.float32), device)
    table = to_host(scatter_add((4, 2), rows, updates))
    np.testing.assert_array_equal(table, [[0, 0], [3, 3], [0, 0], [1, 1]])
    assert table.dtype == np.float32


def test_rows_are_added_in_the_order_given():
    rng = np.random.default_rng(0)
    rows, updates = rng.integers(0, 3, 200), rng.standard_normal((200, 5)).astype(np.float32)
    table = np.zeros((3, 5), np.float32)
    for row, update in zip(rows, updates, strict=True):
        table[row] += update
    np.testing.assert_array_equal(scatter_add((3, 5), rows, updates), table)


def test_rows_of_a_wider_array_are_not_added_to():
    with pytest.raises(ValueError, match="its rows must follow one another in memory"):
        add_rows(np.ones((1, 2)), np.array([0]), out=np.zeros((4, 6))[:, :2])


def test_an_absent_device_says_why():
    with pytest.raises(DeviceError, match="device 'tpu' is unknown: use 'cpu' or 'cuda'"):
        to_device(X, "tpu")
    if reason := cuda_missing():
        with pytest.raises(DeviceError, match="device 'cuda' cannot be used") as error:
            to_device(X, "cuda")
        assert reason in str(error.value)
    else:
        assert to_device(X, "cuda").shape == X.shape


def test_the_pretended_gpu_is_as_strict_as_cupy():
    import fake_cupy

    there = fake_cupy.asarray(np.ones((2, 3)))
    for mix in (
        lambda: there + np.ones(3),
        lambda: np.ones(3) + there,
        lambda: there @ np.ones(3),
        lambda: np.tanh(there),
        lambda: np.asarray(there),
        lambda: fake_cupy.exp(np.ones(3)),
        lambda: there[np.array([0, 1])],
    ):
        with pytest.raises(TypeError):
            mix()
    assert (2 * there + 1.0).get().tolist() == [[3.0] * 3] * 2
