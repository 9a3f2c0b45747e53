"""One process at a time may train into a run's directory.

The lock belongs to the operating system and not to a file's existence, so it goes with the process that holds it,
however that ends. The file .lock stays; it names the last holder.
"""

import os
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import TrainError

NAME = ".lock"
FAR = 2**30                                          # Windows lets nobody read a locked byte: lock one beyond the end


@contextmanager
def lock(run):
    path = Path(run) / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TrainError(f"{path} cannot be opened ({error.strerror}); a run must be able to write there") from error
    try:
        _take(handle, run)
        with suppress(OSError):                      # a full disk
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)                             # and the lock is free


def _take(handle, run):
    try:
        _system_lock(handle)
    except (BlockingIOError, PermissionError) as error:
        holder = os.read(handle, 20).decode(errors="replace") or "another"
        raise TrainError(f"process {holder} is training into {run}; name another directory, or wait for it") from error
    except OSError as error:
        warnings.warn(f"{run} lies where files cannot be locked ({error.strerror}); see to it yourself that no other "
                      "process trains into it", stacklevel=4)  # fmt: skip


def _system_lock(handle):
    if os.name == "nt":
        import msvcrt

        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
