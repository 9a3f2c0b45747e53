"""The memory of a pass: a labelled stack.

    mark = arena.mark()
    u = arena.empty("u", (R, F), "float32")                  # on top of what is there, with anything in it
    arena.release(mark)                                      # everything since the mark is free again

A pass asks for the same arrays in the same order each time, so that each lies where it lay before: no page is
fetched from the operating system twice, and on a GPU addresses stay (a CUDA graph needs that). What does not fit
gets another block; once the stack is empty, one block of the largest size reached takes the place of all.
"""

import math
import mmap
from typing import Any, NamedTuple

import numpy as np

ALIGNMENT = 64                                       # bytes: whole cache lines, and more than a GPU's loads need
SMALLEST_BLOCK = 2**25                               # bytes, on the host


class Entry(NamedTuple):
    label: str
    size: int                                        # bytes that were asked for
    total: int                                       # of the stack up to here, each rounded up to ALIGNMENT
    block: int                                       # which of the blocks
    end: int                                         # in bytes


BOTTOM = Entry("", 0, 0, 0, 0)


class Arena:
    def __init__(self, xp: Any):
        """xp: NumPy or CuPy"""
        self.xp, self.blocks, self.stack, self.highest = xp, [], [], []

    def empty(self, label, shape, dtype):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        nbytes = -(-size // ALIGNMENT) * ALIGNMENT
        _, _, below, block, start = self.stack[-1] if self.stack else BOTTOM
        while block < len(self.blocks) and self.blocks[block].size < start + nbytes:
            block, start = block + 1, 0
        if block == len(self.blocks):
            self.blocks.append(new_block(self.xp, self._room_for(nbytes)))
        self.stack.append(Entry(label, size, below + nbytes, block, start + nbytes))
        return self.blocks[block][start : start + size].view(dtype).reshape(shape)

    def _room_for(self, nbytes):
        """The host's memory is taken page by page when it is first used: ask for more there, to grow in few blocks."""
        if self.xp is not np:
            return nbytes
        return max(nbytes, SMALLEST_BLOCK, sum(block.size for block in self.blocks))

    def mark(self):
        return len(self.stack)

    def release(self, mark):
        if self.size > size_of(self.highest):
            self.highest = list(self.stack)
        del self.stack[mark:]
        if not self.stack and len(self.blocks) > 1:
            self.blocks = []                         # freed before the new one is asked for
            self.blocks = [new_block(self.xp, size_of(self.highest))]

    @property
    def size(self):
        """The bytes in use."""
        return size_of(self.stack)

    def largest(self):
        """[(label, bytes asked for)] of the largest stack so far, from the bottom."""
        return [(entry.label, entry.size) for entry in self.highest]


def size_of(stack):
    return stack[-1].total if stack else 0


def new_block(xp, nbytes):
    """Bytes that go back to the operating system once nobody uses them; freed heap memory may stay with the process."""
    if xp is not np or not nbytes:
        return xp.empty(nbytes, np.uint8)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    pages = mmap.mmap(-1, nbytes, **private)         # shared pages are never huge ones, and a fork would share them
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)
