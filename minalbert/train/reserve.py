"""Room that a run holds in reserve: the file .reserve in its directory, as large as a checkpoint.

If the disk is full, the file is removed, and the newest state is saved where it lay. It costs two calls of the system,
and no writing, where blocks can be asked for without writing them (Linux); elsewhere zeros are written, once.
"""

import errno
import os
import stat
from pathlib import Path

from ..files import rename_aside

NAME = ".reserve"
BLOCK = 4096                                         # bytes, of most file systems
SLACK = 2**16                                        # bytes, for directories and a state.json that grows

CANNOT = {None, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


def room_for(checkpoint):
    """Bytes that a checkpoint like this one needs on a disk. checkpoint: the path of its directory."""
    blocks = sum(-(-file.stat().st_size // BLOCK) for file in checkpoint.iterdir())
    return (blocks * BLOCK // SLACK + 2) * SLACK


class Reserve:
    def __init__(self, run):
        self.path = Path(run) / NAME

    def hold(self, size):
        """Take so many bytes. Is there room for them? If not, none are held."""
        if self._holds(size):
            return True
        try:
            self._clear()
            allocate(self.path, size)
        except OSError:
            self.release()
            return False
        return True

    def release(self):
        """Give the room back. Was there any?"""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True

    def _holds(self, size):
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        blocks = getattr(found, "st_blocks", None)   # Windows does not say; a file with holes has less than its size
        return stat.S_ISREG(found.st_mode) and found.st_size >= size and (blocks is None or 512 * blocks >= size)

    def _clear(self):
        """Make way: a smaller reserve, or what somebody has put here."""
        if self.path.is_dir() and not self.path.is_symlink():
            rename_aside(self.path, "foreign")
        else:
            self.path.unlink(missing_ok=True)


def allocate(path, size):
    """Make a file of so many bytes that are really on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        try:
            os.posix_fallocate(handle, 0, size)
        except (AttributeError, OSError) as error:   # macOS and Windows lack the call, some file systems refuse it
            if getattr(error, "errno", None) not in CANNOT:
                raise
            write_zeros(handle, size)
    finally:
        os.close(handle)


def write_zeros(handle, size):
    zeros = memoryview(bytes(min(size, 2**20)))
    while size > 0:
        size -= os.write(handle, zeros[:size])       # may write a part
    os.fsync(handle)
