"""The tokens of a shard of a large corpus, which stay in their file: slices of them are arrays.

    tokens = TokenFile(file, vocab_size, verified)   # verified when the first slice is read
    ChosenTokens(tokens, ranges)                     # those in some ranges, as if there were no others
"""

import numpy as np

from .. import files
from ..array_file import ArrayFile
from ..errors import DamagedError
from .manifest import AGAIN


class VerifiedFile(ArrayFile):
    """An ArrayFile whose bytes are compared with their record when the first slice is read. file: a ShardFile"""

    def __init__(self, file, verified):
        super().__init__(file.path, file.dtype, file.length, AGAIN)
        self._file, self._verified = file, verified

    def slices(self, starts, stops):
        if self._verified is not None:
            self._verified.check(self._file, self._look)
            self._verified = None
        return super().slices(starts, stops)

    def verify(self):
        """Read every byte, whether or not it was verified before."""
        files.verify(self.path, self._file.record, AGAIN, self._look)

    def _look(self, block):
        """Check a block of bytes."""


class TokenFile(VerifiedFile):
    def __init__(self, file, vocab_size, verified):
        super().__init__(file, verified)
        self._vocab_size = vocab_size

    def _look(self, block):
        check_ids(np.frombuffer(block, self.dtype), self._vocab_size, self.path)


class ChosenTokens:
    """Some ranges (R, 2) of a TokenFile, as one array: one range after the other."""

    def __init__(self, tokens, ranges):
        self.tokens, self.ranges, self.dtype = tokens, ranges, tokens.dtype
        self._begins = np.concatenate([[0], np.cumsum(ranges[:, 1] - ranges[:, 0])])      # (R+1,)

    def __len__(self):
        return int(self._begins[-1])

    def __getitem__(self, which):
        start, stop, _ = which.indices(len(self))
        pieces = []
        place = int(np.searchsorted(self._begins, start, "right")) - 1
        while start < stop:
            shift = int(self.ranges[place, 0] - self._begins[place])
            end = min(stop, int(self._begins[place + 1]))
            pieces.append(self.tokens[start + shift : end + shift])
            start, place = end, place + 1
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, self.dtype), *pieces])

    def slices(self, starts, stops):
        place = np.searchsorted(self._begins[:-1], starts, "right") - 1
        shift = self.ranges[place, 0] - self._begins[place]
        if (stops > self._begins[place + 1]).any():  # of several ranges
            return [self[start:stop] for start, stop in zip(starts, stops, strict=True)]
        return self.tokens.slices(starts + shift, stops + shift)

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype)

    @property
    def nbytes(self):
        return len(self) * self.dtype.itemsize


def check_ids(tokens, vocab_size, path):
    if tokens.size and (largest := int(tokens.max())) >= vocab_size:
        raise DamagedError(f"{path} holds the id {largest:,}; the vocabulary has {vocab_size:,} pieces; {AGAIN}")
