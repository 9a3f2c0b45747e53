"""What else a large corpus has in files: where its sentences and its documents begin, and their topics.

    offsets = ShardArray(file, opener(verified), last)       # verified when the first is read
    offsets[3:8], offsets.at(places)                         arrays
    ChosenOffsets(offsets, ranges, edges)                    those of some ranges, as if nothing stood between them

A corpus has many shards and a process may open few files, so these are opened when they are read, and some stay open.
"""

import functools

import numpy as np

from .. import files
from ..errors import DamagedError
from .manifest import AGAIN
from .token_file import VerifiedFile

OPEN = 64                                            # files at a time


def opener(verified):
    """opened(file, last) -> its VerifiedFile"""
    return functools.lru_cache(OPEN)(functools.partial(VerifiedOffsets, verified))


class ShardArray:
    def __init__(self, file, opened, last=None):
        """opened: an opener; last: the last of some offsets, None for other numbers"""
        files.check_size(file.path, file.record, AGAIN)
        self._file, self._opened, self._last, self.dtype = file, opened, last, file.dtype

    def __len__(self):
        return self._file.length

    def __getitem__(self, which):
        """The array of a slice, without steps."""
        return self._read()[which]

    def slices(self, starts, stops):
        return self._read().slices(starts, stops)

    def at(self, places):
        """The numbers at these places, in an array of their shape."""
        first = places.ravel()
        found = np.concatenate([np.zeros(0, self.dtype), *self.slices(first, first + 1)])
        return found.astype(np.int64).reshape(places.shape)

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype)

    def verify(self):
        """Read every byte, whether or not it was verified before."""
        self._read().verify()

    def _read(self):
        return self._opened(self._file, self._last)


class VerifiedOffsets(VerifiedFile):
    """Numbers that ascend from 0 to the last; if there is no last, any."""

    def __init__(self, verified, file, last):
        super().__init__(file, verified)
        self._last, self._seen, self._before = last, 0, np.zeros(0, file.dtype)

    def _look(self, block):
        numbers = np.concatenate([self._before, np.frombuffer(block, self.dtype)])
        self._seen += len(numbers) - len(self._before)
        begins, ends = not len(self._before), self._seen == len(self)
        if self._last is not None and not (
            ascend(numbers) and (numbers[0] == 0 or not begins) and (numbers[-1] == self._last or not ends)
        ):
            raise no_offsets(self.path, self._last)
        self._before = (numbers[:0] if ends else numbers[-1:]).copy()      # a view would keep the block in memory
        self._seen %= len(self)


def check_offsets(offsets, last, path):
    """From 0 to `last`, and each greater than the one before: no sentence and no document is empty."""
    if offsets[0] != 0 or offsets[-1] != last or not ascend(offsets):
        raise no_offsets(path, last)


def ascend(numbers):
    return (numbers[1:] > numbers[:-1]).all()


def no_offsets(path, last):
    return DamagedError(f"{path} does not hold what it must: numbers that ascend from 0 to {last:,}; {AGAIN}")


class ChosenOffsets:
    """The offsets of some ranges of what `whole` counts, one range after the other."""

    def __init__(self, whole, ranges, edges):
        """ranges: (R, 2) of places in `whole`; edges: (R, 2) the numbers there"""
        self.whole, self.dtype = whole, whole.dtype
        self._begins, held = (np.concatenate([[0], np.cumsum(np.diff(pair)[:, 0])]) for pair in (ranges, edges))
        self._skipped, self._missing = ranges[:, 0] - self._begins[:-1], edges[:, 0] - held[:-1]

    def __len__(self):
        return int(self._begins[-1]) + 1

    def __getitem__(self, which):
        start, stop, _ = which.indices(len(self))
        one = self._range_of(start)
        if stop > self._begins[one + 1] + 1:         # of several ranges
            return self.at(np.arange(start, stop))
        skipped = self._skipped[one]
        return self.whole[start + skipped : stop + skipped].astype(np.int64) - self._missing[one]

    def at(self, places):
        one = self._range_of(places)
        return self.whole.at(places + self._skipped[one]) - self._missing[one]

    def __array__(self, dtype=None, copy=None):
        places = np.arange(len(self))
        one = self._range_of(places)
        found = np.asarray(self.whole)[places + self._skipped[one]].astype(np.int64) - self._missing[one]
        return found.astype(dtype or self.dtype)

    def _range_of(self, places):
        return np.minimum(np.searchsorted(self._begins, places, "right"), len(self._skipped)) - 1
