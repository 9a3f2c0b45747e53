"""The sum over ranks, by real ranks under mpiexec: the bits of one process, and no more bytes than need be."""

import json

import numpy as np
import pytest
from ranks_of_mpi import on_ranks

from minalbert.analysis import step_time
from minalbert.config import PRESETS
from minalbert.parallel.rank_sum import bytes_sent, even_places
from minalbert.params import count

pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install 'minalbert[mpi]')")

from rank_sums import leaves, tree_sum


def test_the_order_changes_bits():
    vectors = leaves(1000, "float32")
    assert not np.array_equal(sum(vectors), tree_sum(vectors))


@pytest.fixture(scope="module")
def sums():
    """{ranks: {(dtype, length): (hashes, bytes sent)}}"""
    return {ranks: sums_on(ranks) for ranks in (1, 2, 4)}


def sums_on(ranks, *way):
    lines = map(json.loads, on_ranks(ranks, "rank_sums.py", *way).splitlines())
    return {(dtype, length): rest for dtype, length, *rest in lines}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", ["copied", "nccl"])
def test_sums_of_vectors_on_gpus_have_the_same_bits_and_send_as_many_bytes(sums, way, ranks):
    assert sums_on(ranks, way) == sums[ranks]


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_bits_are_those_of_one_process_on_every_rank(sums, ranks):
    for case, (hashes, _) in sums[ranks].items():
        assert hashes == sums[1][case][0] * ranks, case


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_bytes_that_leave_are_as_many_as_the_formula_says(sums, ranks):
    for (dtype, length), (_, sent) in sums[ranks].items():
        assert sent == bytes_sent(length, np.dtype(dtype).itemsize, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_step_time_model_counts_the_bytes_that_leave(sums, ranks):
    config = PRESETS["tiny"]
    _, sent = sums[ranks]["float32", count(config)]
    assert step_time.sent_bytes(config, ranks) == sent / ranks
    assert (sent > 0) == (ranks > 1)


@pytest.mark.parametrize("length", [0, 1, 5, 8, 1001])
def test_shares_are_alike(length):
    counts = [stop - start for start, stop in even_places(length, 4)]
    assert sum(counts) == length
    assert max(counts) - min(counts) <= 1
