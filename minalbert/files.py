"""Files that are complete or absent, even after a kill, a full disk or a power cut."""

import contextlib
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
        with self._explained():
            self._file = open(self.partial, "wb")
        return self

    def write(self, data):
        """Write bytes, or an array."""
        with self._explained():
            self._file.write(data)
        self._hash.update(data)

    def __exit__(self, kind, error, traceback):
        try:
            with self._explained():
                if kind is None:
                    self._file.flush()
                    to_disk(self._file.fileno())
                    self._file.close()
                    os.replace(self.partial, self.path)
        finally:
            with contextlib.suppress(OSError):
                self._file.close()                   # may write what is buffered: a full disk refuses it again
            self.partial.unlink(missing_ok=True)     # absent if it has got its real name

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except OSError as error:
            raise FileError(
                f"{self.path} could not be written ({error.strerror}); nothing of it was kept, what was finished "
                "before stays, and the same command continues from there"
            ) from error

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
    if hasattr(fcntl, "F_FULLFSYNC"):
        with contextlib.suppress(OSError):           # a file system without this call
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)
