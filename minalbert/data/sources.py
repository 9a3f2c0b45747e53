"""The input divided into sources, one for each shard.

Large files are cut at ends of documents, which are found by looking for blank lines at regular distances; small files
are joined. Only these places are read, so that a terabyte is cut in seconds, and each worker reads its own source.
A pipe or a compressed file cannot be read from its middle: the pipe is read here, document by document, and a
compressed file makes one shard of any size.

A source has `documents()`, an iterator, and `describe()`, a text that identifies it.
"""

import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

from ..arguments import of_kind, one_of, whole
from ..errors import DataError
from .documents import BLANKS, LAYOUTS, STDIN, Document, LineError, file_documents, find_files, read_documents
from .tiny_worlds import TinyWorlds

BYTES_PER_TOKEN = 4                                  # of English text, with 30,000 pieces: 4.4
LINE = 2**16
TOKENS = 2**24                                       # of a shard
MOST_SHARDS = 10**6
STORIES = 50_000                                     # of a shard, at most


class FileRange(NamedTuple):
    """A file, or the bytes of it from start to end."""

    path: str
    start: int                                       # bytes
    end: int
    size: int                                        # of the whole file

    def __str__(self):
        return self.path if self.whole else f"bytes {self.start}-{self.end} of {self.path}"

    @property
    def whole(self):
        return (self.start, self.end) == (0, self.size)


class Text(NamedTuple):
    """Documents to be read from files."""

    ranges: tuple
    layout: str

    def describe(self):
        return "; ".join(f"{piece} ({piece.size} bytes)" for piece in self.ranges)

    def documents(self):
        for piece in self.ranges:
            try:
                yield from file_documents(piece.path, self.layout, stretch=None if piece.whole else piece[1:3])
            except LineError as error:               # its number counts from the range's first line
                line = error.number + lines_before(piece)
                raise DataError(f"{piece.path}:{line}: {error.reason}") from error


def lines_before(piece):
    """The number of lines that the file has before the range."""
    with open(piece.path, "rb") as file:
        left, lines = piece.start, 0
        while left and (data := file.read(min(left, 2**20))):
            lines += data.count(b"\n")
            left -= len(data)
    return lines


class ReadText(NamedTuple):
    """Documents that have been read already, from a pipe."""

    name: str
    given: tuple

    def describe(self):
        text = hashlib.sha256(repr([tuple(document.sentences) for document in self.given]).encode()).hexdigest()
        return f"{self.name} ({len(self.given)} documents, SHA-256 {text})"

    def documents(self):
        return iter(self.given)


class Stories(NamedTuple):
    """Stories of tiny worlds, from number `start` to `end` - 1."""

    worlds: object                                   # TinyWorlds
    start: int
    end: int

    def describe(self):
        return f"stories {self.start}-{self.end} of {self.worlds!r}"

    def documents(self):
        return self.worlds.documents(self.start, self.end)


def text_sources(paths, layout="lines", shard_tokens=TOKENS):
    """A source for about every `shard_tokens` tokens of the files."""
    shard_tokens = whole("shard_tokens", shard_tokens, 1, error=DataError)
    one_of("layout", layout, LAYOUTS, DataError)
    files, target = find_files(paths), shard_tokens * BYTES_PER_TOKEN
    if any(file == STDIN or not Path(file).is_file() for file in files):
        return read_now(files, read_documents(files, layout), target)
    blanks = BLANKS if layout == "paragraphs" else 1
    ranges = [piece for file in files for piece in cut(file, target, blanks)]
    if not ranges:
        next(read_documents(files, layout))          # raises the error that there is no text
    return [Text(tuple(group), layout) for group in joined(ranges, target)]


def story_sources(worlds, count, stories=STORIES):
    """A source for every `stories` of `count` stories."""
    of_kind("worlds", worlds, TinyWorlds, DataError)
    count, stories = whole("count", count, 1, error=DataError), whole("stories", stories, 1, error=DataError)
    if count > MOST_SHARDS * stories:
        raise DataError(f"count is {count}; of {stories} stories a shard it must be at most {MOST_SHARDS * stories:,}")
    return [Stories(worlds, start, min(start + stories, count)) for start in range(0, count, stories)]


def read_now(files, documents, target):
    """Sources of about `target` characters each, read from a pipe."""
    name = "standard input" if STDIN in files else files[0]
    group, size = [], 0
    for document in documents:
        group.append(Document(list(document.sentences), document.source, document.topic))
        size += sum(map(len, document.sentences))
        if size >= target:
            yield ReadText(name, tuple(group))
            group, size = [], 0
    if group:
        yield ReadText(name, tuple(group))


def joined(ranges, target):
    """Neighbouring ranges in groups of at most `target` bytes; a larger range stands alone."""
    group, size = [], 0
    for piece in ranges:
        if group and size + piece.end - piece.start > target:
            yield group
            group, size = [], 0
        group.append(piece)
        size += piece.end - piece.start
    if group:
        yield group


def cut(path, target, blanks):
    """The ranges of a file, about `target` bytes each. Each begins with a document; a blank file has none."""
    try:
        size = Path(path).stat().st_size
        if path.endswith(".gz"):
            with gzip.open(path, "rb") as file:
                return [FileRange(path, 0, size, size)] if first_text(file) is not None else []
        with open(path, "rb") as file:
            if (wish := first_text(file)) is None:
                return []
            starts, wish = [0], max(wish, target)
            while wish < size and (start := next_document(file, wish, blanks)) is not None:
                starts.append(start)
                wish = start + target
    except (EOFError, gzip.BadGzipFile):
        return [FileRange(path, 0, size, size)]           # reading it raises the error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    return [FileRange(path, *ends, size) for ends in zip(starts, [*starts[1:], size], strict=True)]


def first_text(file):
    """Roughly the place of the first line with text in it, or None."""
    while line := file.readline(LINE):
        if line.strip():
            return file.tell() - len(line)
    return None


def next_document(file, place, blanks):
    """The place of the first document after `place`: a line of text that follows so many blank lines."""
    file.seek(place)
    at_start, run = False, 0                         # of a line; `place` may be in the middle of one
    while True:
        here = file.tell()
        line = file.readline(LINE)
        if not line:
            return None
        if line.strip() or not at_start:
            if run >= blanks and at_start:
                return here
            run = 0
        elif line.endswith(b"\n"):
            run += 1
        at_start = line.endswith(b"\n")
