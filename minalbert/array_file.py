"""An array that is too large for memory stays in its file: its slices are read when they are wanted.

    tokens = ArrayFile(path, "<u2", length, advice)
    tokens[3:8]                                      an array
    tokens.slices([3, 20], [8, 30])                  two of them

The file could be mapped into memory instead, but a mapped file that is cut off meanwhile ends the process without a
word; here it is a DamagedError.
"""

import os
import threading
import weakref
from pathlib import Path

import numpy as np

from .files import damaged, explained, status

one_reader = threading.Lock()


class ArrayFile:
    def __init__(self, path, dtype, length, advice):
        self.path, self.dtype, self.advice = Path(path), np.dtype(dtype), advice
        self._length = length
        size, wanted = status(path, advice).st_size, length * self.dtype.itemsize
        if size != wanted:
            raise damaged(f"{path} has {size:,} bytes; it must have {wanted:,}", advice)
        with explained(path, advice):
            self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._handle)

    def __len__(self):
        return self._length

    def __getitem__(self, which):
        """The array of a slice, without steps."""
        start, stop, _ = which.indices(self._length)
        return self.slices([start], [max(start, stop)])[0]

    def slices(self, starts, stops):
        """The array of each slice start..stop-1."""
        size, found = self.dtype.itemsize, []
        with explained(self.path, self.advice):
            for start, stop in zip(*(np.asarray(ends).tolist() for ends in (starts, stops)), strict=True):
                content = self._bytes((stop - start) * size, start * size)
                if len(content) < (stop - start) * size:
                    raise self._cut_off(start * size + len(content))
                found.append(np.frombuffer(content, self.dtype))
        return found

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype)

    @property
    def nbytes(self):
        return self._length * self.dtype.itemsize

    def _bytes(self, size, place):
        content = self._some(size, place)
        while len(content) < size and (more := self._some(size - len(content), place + len(content))):
            content += more                          # Linux reads no more than 2 GB at once
        return content

    def _some(self, size, place):
        if hasattr(os, "pread"):
            return os.pread(self._handle, size, place)
        with one_reader:                            # Windows: the place is the file's own
            os.lseek(self._handle, place, os.SEEK_SET)
            return os.read(self._handle, size)

    def _cut_off(self, end):
        return damaged(f"{self.path} was cut off while it was read: it ends at byte {end:,}", self.advice)
