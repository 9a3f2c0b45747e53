"""How a batch is cut: into slices, each into parts no longer than their longest example."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_batches import padded

from minalbert import PRESETS, Batch
from minalbert.parallel import cut, lengths_of
from minalbert.parallel.slices import part_ends, slice_ends


def test_an_example_is_as_long_as_its_last_token_or_prediction():
    masks = [[1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0] * 6, [1, 0, 0, 0, 0, 0], [1] * 6, [0, 0, 1, 0, 0, 0]]
    batch = padded(masks, [[1, -1], [-1, -1], [0, 0], [-1, 4], [2, -1], [-1, -1]])
    assert lengths_of(batch).tolist() == [2, 4, 6, 5, 6, 3]


def test_a_part_is_as_long_as_its_longest_example(cut_often):
    masks = [[1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0] * 6, [1, 0, 0, 0, 0, 0], [1] * 6, [0, 0, 1, 0, 0, 0]]
    batch = padded(masks, [[1, -1, -1], [0, -1, -1], [-1, -1, -1], [-1, 4, -1], [2, -1, -1], [-1, -1, -1]])
    (parts,) = cut(batch, 2)
    found = [(part.first, part.examples.tolist(), part.batch.input_ids.shape[1]) for part in parts]
    assert found == [(0, [2, 4], 6), (2, [3], 5), (3, [1], 4), (4, [5], 3), (5, [0], 2)]
    assert [part.batch.mlm_weights.shape[1] for part in parts] == [1, 2, 1, 1, 1]
    for part in parts:
        T, P = part.batch.input_ids.shape[1], part.batch.mlm_weights.shape[1]
        for array, of_whole, width in zip(part.batch, batch, [T] * 3 + [P] * 3, strict=False):
            unused = of_whole is batch.mlm_positions and part.batch.mlm_weights == 0
            np.testing.assert_array_equal(array, np.where(unused, 0, of_whole[part.examples, :width]))
        np.testing.assert_array_equal(part.batch.sop_labels, batch.sop_labels[part.examples])


@given(st.lists(st.integers(1, 64), min_size=1, max_size=40), st.sampled_from([1, 2, 4, 8]))
def test_slices_and_parts_hold_each_example_once(found, count):
    size = -np.sort(-np.array(found))
    count = min(count, 2 ** (len(size).bit_length() - 1))
    for ends, most in ((slice_ends(size, count), count), (part_ends(size, tokens=512), len(size))):
        assert all(a < b for a, b in pairwise([0, *ends]))
        assert ends[-1] == len(size)
        assert len(ends) <= most
    assert len(slice_ends(size, count)) == count


def test_slices_have_about_the_same_number_of_tokens():
    assert slice_ends(np.array([64, 1, 1, 1]), 4) == [1, 2, 3, 4]
    size = -np.sort(-np.random.default_rng(0).integers(1, 129, 200))
    tokens = [size[first:end].sum() for first, end in pairwise([0, *slice_ends(size, 4)])]
    assert max(tokens) - min(tokens) <= 2 * 128


def test_a_part_must_be_worth_it():
    assert part_ends(np.array([32] * 32 + [31] * 32), 2048) == [64]
    assert part_ends(np.array([32] * 32 + [16] * 32), 2048) == [32, 64]
    assert part_ends(np.array([32] * 10 + [16] * 4), 2048) == [10, 14]  # 64 tokens are saved
    assert part_ends(np.array([32] * 10 + [16] * 3), 2048) == [13]


def test_a_part_has_few_tokens_or_one_example():
    assert part_ends(np.array([128] * 4), 341) == [2, 4]
    assert part_ends(np.array([128] * 5), 341) == [2, 3, 5]
    assert part_ends(np.array([512, 512]), 341) == [1, 2]
    assert part_ends(np.array([128] * 4), 512) == [4]


@pytest.mark.parametrize(
    ("hidden", "examples", "tokens", "count"),
    [(64, 1, 64, 1), (64, 15, 32, 1), (64, 16, 32, 2), (64, 64, 32, 2), (64, 64, 64, 4), (128, 128, 64, 8),
     (768, 1, 512, 1), (768, 2, 128, 2), (768, 8, 128, 2), (768, 8, 512, 4), (768, 3, 512, 2), (768, 64, 512, 8)],
)  # fmt: skip
def test_a_slice_is_worth_a_thread(hidden, examples, tokens, count):
    batch = Batch.random(PRESETS["albert-base-v2"], examples, tokens, 9)
    batch = batch._replace(attention_mask=np.ones_like(batch.attention_mask))
    assert len(cut(batch, hidden)) == count
