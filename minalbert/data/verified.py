"""Which files of a large corpus were found whole, so that they are not hashed at every start.

A file counts as verified while it has the size, the times and the inode that it had then. They stand in `verified.json`
beside the shards. If that cannot be written or read, the files are hashed again.
"""

import json
import time
from contextlib import suppress
from pathlib import Path

from .. import files
from ..errors import FileError
from .manifest import AGAIN

NAME = "verified.json"
TICK = 2                                             # seconds, in which a file may change twice and keep its times
BETWEEN = 1                                          # seconds between two writings of the list, but for the last


class Verified:
    """The list of one corpus. files_in_all: a list of so many files is complete, and written at once."""

    def __init__(self, directory, files_in_all):
        self.path, self.files_in_all = Path(directory) / NAME, files_in_all
        self._written, self._known = 0.0, {}
        with suppress(FileError):
            self._known = files.read_json(self.path, AGAIN)

    def check(self, file, look):
        """Raise DamagedError unless the file was verified before, or is now. `look` is called with its blocks."""
        size, *identity = files.identity(file.path, AGAIN)
        entry = [file.record.sha256, size, *identity]
        if self._known.get(file.path.name) == entry:
            return
        files.verify(file.path, file.record, AGAIN, look)
        if time.time_ns() - max(identity[:2]) > TICK * 10**9:
            self._known[file.path.name] = entry
            self._write()

    def _write(self):
        if time.monotonic() - self._written > BETWEEN or len(self._known) >= self.files_in_all:
            with suppress(FileError):                # a directory that may only be read, or a full disk
                files.write_atomically(self.path, json.dumps(self._known).encode())
            self._written = time.monotonic()
