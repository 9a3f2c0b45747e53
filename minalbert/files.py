"""Files as the program writes and reads them.

Written: complete or absent, even after a kill, a full disk or a power cut.

    write_atomically(path, data)                     returns the SHA-256, for whoever records it
    write_together({path: data, ...})                several files, all or none

Read: whatever the program wrote is read back through one of these functions, and nothing else opens it. Each refuses
what is no file, and compares the file with the record of it, if there is one. A DamagedError is one sentence: which
file, what is wrong, and `advice`, what to do, if there is any. A file that cannot be opened at all is a FileError.

    read(path, advice, Record(size, sha256))         bytes
    read_json(path, advice), read_toml(path, advice) a dict, whose own checksum the caller compares, if it has one
    verify(path, record, advice)                     for a file that something else reads afterwards
    ArrayFile(path, dtype, length, advice)           of array_file.py: slices of an array that is too large for memory
"""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
import tomllib
from pathlib import Path
from typing import NamedTuple

from .errors import DamagedError, FileError, MissingFileError

try:
    import fcntl
except ImportError:                                  # Windows
    fcntl = None

PARTIAL = ".partial"
LARGEST = 2**28                                      # bytes of a JSON or TOML file
BLOCK = 2**20                                        # bytes: a block that is hashed is still in the processor's cache


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
        check_place_for(self.path)
        with self._explained():
            self._file = open(self.partial, "wb")
        return self

    def write(self, data):
        """Write bytes, or an array."""
        with self._explained():
            self._file.write(data)
        self._hash.update(data)

    def sync(self):
        """Bring what was written to the disk."""
        with self._explained():
            self._file.flush()
            to_disk(self._file.fileno())

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self.sync()
                with self._explained():
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


def check_place_for(path):
    """Raise FileError where a file cannot be written, because something else is there, or no directory for it."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "a pipe or a device"
        raise FileError(f"{path} could not be written: it is {kind} where a file must be; remove it, or name another "
                        "file")
    if not path.parent.is_dir():
        raise FileError(f"{path} could not be written: {path.parent} is no directory; make it, or name another file")


def write_atomically(path, data):
    """Write a whole file and return its SHA-256."""
    with AtomicFile(path) as file:
        file.write(data)
    return file.sha256


def write_together(contents):
    """Write {path: data}: all files take their names when each is on the disk as a whole."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(AtomicFile(path)) for path in contents]
        for file, data in zip(files, contents.values(), strict=True):
            file.write(data)
        for file in files:
            file.sync()


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


def rename_aside(path, kind):
    """Rename a file or directory KIND-NAME, such as damaged-NAME. Returns the end of a sentence about it."""
    number, name = 1, f"{kind}-{path.name}"
    while os.path.lexists(path.parent / name):
        number += 1
        name = f"{kind}-{path.name}-{number}"
    try:
        os.rename(path, path.parent / name)
    except OSError as error:
        return f"it cannot be renamed {name} ({error.strerror})"
    return f"it is now {name}"


class Record(NamedTuple):
    """What was noted of a file when it was written."""

    size: int
    sha256: str


def record_of(path, advice):
    """The Record of a file as it is now."""
    with opened(path, advice) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Record(file.tell(), sha256)


def verify(path, record, advice, look=None):
    """Raise DamagedError unless the file is the one that was recorded. `look` is called with each block of it."""
    check_size(path, record, advice)                 # before the hash, which takes as long as the file is large
    found, block = hashlib.sha256(), memoryview(bytearray(BLOCK))
    with opened(path, advice) as file:
        while size := file.readinto(block):
            found.update(block[:size])
            if look is not None:
                look(block[:size])
    check_hash(path, found.hexdigest(), record, advice)


def read(path, advice, record=None):
    """The bytes of a file; with a record, only if they are those that were written."""
    if record is not None:
        check_size(path, record, advice)
    with opened(path, advice) as file:
        content = file.read()
    if record is not None:
        check_hash(path, hashlib.sha256(content).hexdigest(), record, advice)
    return content


def check_size(path, record, advice):
    if (size := status(path, advice).st_size) != record.size:
        raise damaged(f"{path} is damaged: it has {size:,} bytes, and had {record.size:,}", advice)


def check_hash(path, now, record, advice):
    if now != record.sha256:
        raise damaged(f"{path} is damaged: its SHA-256 is {now[:12]}..., and was {record.sha256[:12]}... when it was "
                      "written", advice)  # fmt: skip


def read_json(path, advice):
    return parsed(path, advice, lambda content: json.loads(content.decode()), "JSON")


def checksum(table):
    """SHA-256 of a JSON object, without the checksum in it."""
    content = {key: value for key, value in table.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_toml(path, advice):
    return parsed(path, advice, lambda content: tomllib.loads(content.decode().removeprefix("\ufeff")), "TOML")


def parsed(path, advice, parse, format):
    """A file as a dict. format: its name, for the sentence."""
    if (size := status(path, advice).st_size) > LARGEST:
        raise damaged(f"{path} has {size:,} bytes, too many for {format} that minalbert reads", advice)
    content = read(path, advice)
    try:
        table = parse(content)
    except RecursionError:
        raise damaged(f"{path} is nested too deeply to be {format} that minalbert reads", advice) from None
    except ValueError as error:                      # of the decoder, and of both parsers
        raise damaged(f"{path} is not {format} ({error})", advice) from error
    if not isinstance(table, dict):
        raise damaged(f"{path} holds a {type(table).__name__}, where names with values must be", advice)
    return table


def exists(path, advice):
    """Is there anything under this name? If the system does not say, it is a FileError."""
    try:
        with explained(path, advice):
            os.stat(path)
    except MissingFileError:
        return False
    except FileError as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return False
        raise
    return True


def names_in(directory, advice):
    """The names in a directory, in order; none if there is no directory. One that cannot be read is a FileError."""
    if not os.path.isdir(directory):
        return []
    with explained(directory, advice):
        return sorted(os.listdir(directory))


@contextlib.contextmanager
def opened(path, advice):
    """A file for reading."""
    status(path, advice)
    with explained(path, advice), open(path, "rb") as file:
        yield file


def status(path, advice):
    """What the operating system says of a file. A pipe or a device would never end, and is refused."""
    with explained(path, advice):
        found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        kind = "a directory" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise damaged(f"{path} is {kind} where a file must be", advice)
    return found


def identity(path, advice):
    """Size, times of change in nanoseconds, and inode: a file that was changed or replaced has others."""
    found = status(path, advice)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


@contextlib.contextmanager
def explained(path, advice):
    """A context in which an OSError becomes a FileError: one sentence about the file."""
    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(with_advice(f"{path} is missing", advice)) from None
    except PermissionError as error:
        sentence = f"{path} cannot be read ({error.strerror})"
        raise FileError(f"{sentence}; chmod makes it, and the directories above it, readable") from error
    except OSError as error:
        kind = DamagedError if error.errno == errno.EIO else FileError
        raise kind(with_advice(f"{path} cannot be read ({error.strerror})", advice)) from error


def damaged(sentence, advice):
    return DamagedError(with_advice(sentence, advice))


def with_advice(sentence, advice):
    return f"{sentence}; {advice}" if advice else sentence
