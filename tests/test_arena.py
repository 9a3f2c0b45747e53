"""The labelled stack of memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from minalbert.fused import arena as arenas
from minalbert.fused.arena import Arena


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(arenas, "SMALLEST_BLOCK", 0)


def test_arrays_do_not_overlap_and_hold_what_is_written():
    arena = Arena(np)
    arrays = [
        arena.empty(f"x{i}", (3, i + 1), dtype) for i, dtype in enumerate(("float32", "float64", "uint16", "float32"))
    ]
    for i, x in enumerate(arrays):
        assert x.shape == (3, i + 1)
        x.fill(i)
    assert [float(x.min()) for x in arrays] == [float(x.max()) for x in arrays] == [0, 1, 2, 3]


def test_what_is_released_is_given_again():
    arena = Arena(np)
    below = arena.empty("below", (4, 5), "float32")
    mark = arena.mark()
    first = arena.empty("first", (4, 5), "float32")
    arena.release(mark)
    second = arena.empty("second", (2, 10), "float32")
    assert np.shares_memory(first, second)
    assert not np.shares_memory(below, second)


def test_an_empty_stack_gets_one_block_of_the_largest_size_so_far(small_blocks):
    arena = Arena(np)

    def use():
        mark = arena.mark()
        arena.empty("a", (100,), "float64")
        inner = arena.mark()
        arena.empty("b", (1000,), "float64")
        arena.release(inner)
        arena.empty("c", (10,), "float64")
        assert arena.size == 832 + 128  # bytes, each rounded up to 64
        arena.release(mark)

    use()
    assert [block.nbytes for block in arena.blocks] == [832 + 8000]
    (block,) = arena.blocks
    use()
    assert arena.blocks[0] is block
    assert arena.largest() == [("a", 800), ("b", 8000)]


def test_a_larger_use_grows_it_and_loses_nothing(small_blocks):
    arena = Arena(np)
    small = arena.empty("small", (8,), "float64")
    small[...] = np.arange(8)
    arena.empty("large", (10_000,), "float64").fill(-1)
    np.testing.assert_array_equal(small, np.arange(8))
    arena.release(0)
    assert [block.nbytes for block in arena.blocks] == [64 + 80_000]


@pytest.mark.parametrize(
    ("xp", "blocks"), [(np, [32, 32, 64]), (SimpleNamespace(empty=np.empty, uint8=np.uint8), [1] * 100)]
)
def test_the_host_grows_in_few_blocks(xp, blocks):
    """A host takes memory where it is first written. A GPU takes all of it, so its blocks are no larger than needed."""
    arena = Arena(xp)
    for number in range(100):
        arena.empty(f"x{number}", (2**18,), "float32")
    assert [block.nbytes for block in arena.blocks] == [2**20 * size for size in blocks]
