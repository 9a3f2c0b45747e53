"""Named arrays that stay: asked for again, a name gives the same memory."""

import math


class Workspace:
    def __init__(self, xp, dtype):
        self.xp, self.dtype = xp, dtype
        self._blocks = {}

    def __call__(self, name, shape, dtype=None):
        """An array with anything in it. A block is made anew only where it was too small."""
        size, dtype = math.prod(shape), dtype or self.dtype
        block = self._blocks.get(name)
        if block is None or block.size < size or block.dtype != dtype:
            self._blocks[name] = block = self.xp.empty(size, dtype)
        return block[:size].reshape(shape)

    def sizes(self):
        """{name: bytes}"""
        return {name: block.nbytes for name, block in self._blocks.items()}
