"""Files that are complete or absent, even after a kill, a full disk or a power cut."""

import hashlib
import os
import secrets
from pathlib import Path

from .errors import FileError

try:
    import fcntl
except ImportError:                                  # Windows
    fcntl = None

PARTIAL = ".partial"


class AtomicFile:
    """A file written under a temporary name, which takes its real name when all of it is on the disk.

        with AtomicFile(path) as file:
            file.write(data)
        file.sha256
    """

    def __init__(self, path):
        self.path = Path(path)
        self.partial = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}{PARTIAL}")
        self._hash = hashlib.sha256()

    def __enter__(self):
        try:
            self._file = open(self.partial, "wb")
        except OSError as error:
            raise self.failure(error) from error
        return self

    def write(self, data):
        """Write bytes, or an array."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self.failure(error) from error
        self._hash.update(data)

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self._file.flush()
                to_disk(self._file.fileno())
                self._file.close()
                os.replace(self.partial, self.path)
        except OSError as trouble:
            raise self.failure(trouble) from trouble
        finally:
            self.discard()

    def discard(self):
        try:
            self._file.close()                       # may write what is buffered: a full disk refuses it again
        except OSError:
            pass
        finally:
            self.partial.unlink(missing_ok=True)     # absent if it has got its real name

    def failure(self, error):
        return FileError(
            f"{self.path} could not be written ({error.strerror}); nothing of it was kept, what was finished before "
            "stays, and the same command continues from there"
        )

    @property
    def sha256(self):
        return self._hash.hexdigest()


def write_atomically(path, data):
    """Write a whole file and return its SHA-256."""
    with AtomicFile(path) as file:
        file.write(data)
    return file.sha256


def sync(path):
    """Make a file's content survive a power cut."""
    with open(path, "r+b") as file:                  # Windows syncs only what it may write
        to_disk(file.fileno())


def settle(directory):
    """Make the names in a directory survive a power cut as well (Windows has no such call)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_DIRECTORY)
        try:
            to_disk(handle)
        finally:
            os.close(handle)


def to_disk(handle):
    """Call fsync; on macOS, where fsync stops at the drive's own memory, call F_FULLFSYNC."""
    if fcntl and hasattr(fcntl, "F_FULLFSYNC"):
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
        except OSError:                              # a file system without this call
            pass
    os.fsync(handle)
