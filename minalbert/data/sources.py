"""The input cut into parts, one for each shard.

Files are cut where a document ends, by looking for blank lines near every so many bytes; small files are put
together. Nothing is read but those places, so a terabyte is cut in seconds, and each worker reads its own part.
What comes through a pipe, or in a compressed file, cannot be read from its middle: the pipe is read here and
dealt out, the compressed file makes one shard, however large.

A source has `documents()`, an iterator, and `describe()`, words that tell it from all others.
"""

import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

from ..errors import DataError
from .documents import BLANKS, STDIN, Document, LineError, file_documents, find_files, read_documents

BYTES_PER_TOKEN = 4                                  # of English text, with 30,000 pieces: 4.4
LINE = 2**16
TOKENS = 2**24                                       # of a shard
STORIES = 50_000                                     # of a shard, at most


class Part(NamedTuple):
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
    parts: tuple
    layout: str

    def describe(self):
        return "; ".join(f"{part} ({part.size} bytes)" for part in self.parts)

    def documents(self):
        for part in self.parts:
            try:
                yield from file_documents(part.path, self.layout, stretch=None if part.whole else part[1:3])
            except LineError as error:               # its number counts from where the part begins
                line = error.number + lines_before(part)
                raise DataError(f"{part.path}:{line}: {error.said}") from error


def lines_before(part):
    with open(part.path, "rb") as file:
        left, lines = part.start, 0
        while left and (data := file.read(min(left, 2**20))):
            lines += data.count(b"\n")
            left -= len(data)
    return lines


class Dealt(NamedTuple):
    """Documents that were read already."""

    name: str
    given: tuple

    def describe(self):
        text = hashlib.sha256(repr([tuple(document.sentences) for document in self.given]).encode()).hexdigest()
        return f"{self.name} ({len(self.given)} documents, SHA-256 {text})"

    def documents(self):
        return iter(self.given)


class Stories(NamedTuple):
    worlds: object                                   # TinyWorlds
    start: int
    end: int

    def describe(self):
        return f"stories {self.start}-{self.end} of {self.worlds!r}"

    def documents(self):
        return self.worlds.documents(self.start, self.end)


def text_sources(paths, layout="lines", shard_tokens=TOKENS):
    """A source for about every `shard_tokens` tokens of the files."""
    if shard_tokens < 1:
        raise DataError(f"shard_tokens is {shard_tokens}; it must be at least 1")
    files, target = find_files(paths), shard_tokens * BYTES_PER_TOKEN
    if any(file == STDIN or not Path(file).is_file() for file in files):
        return dealt(files, read_documents(files, layout), target)
    parts = [part for file in files for part in cut(file, target, BLANKS if layout == "paragraphs" else 1)]
    if not parts:
        read_documents(files, layout).__next__()     # says that there is no text, in its own words
    return [Text(tuple(group), layout) for group in together(parts, target)]


def story_sources(worlds, count, stories=STORIES):
    if count < 1 or stories < 1:
        raise DataError(f"{count} stories, {stories} a shard: both must be at least 1")
    return [Stories(worlds, start, min(start + stories, count)) for start in range(0, count, stories)]


def dealt(files, documents, target):
    name = "standard input" if STDIN in files else files[0]
    hand, size = [], 0
    for document in documents:
        hand.append(Document(list(document.sentences), document.source, document.topic))
        size += sum(map(len, document.sentences))
        if size >= target:
            yield Dealt(name, tuple(hand))
            hand, size = [], 0
    if hand:
        yield Dealt(name, tuple(hand))


def together(parts, target):
    """Neighbours in groups of `target` bytes at most, a larger one alone."""
    group, size = [], 0
    for part in parts:
        if group and size + part.end - part.start > target:
            yield group
            group, size = [], 0
        group.append(part)
        size += part.end - part.start
    if group:
        yield group


def cut(path, target, blanks):
    """The parts of a file: each begins where a document begins, about every `target` bytes. None if it is blank."""
    try:
        size = Path(path).stat().st_size
        if path.endswith(".gz"):
            with gzip.open(path, "rb") as file:
                return [Part(path, 0, size, size)] if first_text(file) is not None else []
        with open(path, "rb") as file:
            if (wish := first_text(file)) is None:
                return []
            starts, wish = [0], max(wish, target)
            while wish < size and (start := next_document(file, wish, blanks)) is not None:
                starts.append(start)
                wish = start + target
    except (EOFError, gzip.BadGzipFile):
        return [Part(path, 0, size, size)]           # for the reader to complain about
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    return [Part(path, *ends, size) for ends in zip(starts, [*starts[1:], size], strict=True)]


def first_text(file):
    """Where the first line with text in it begins, roughly; None if there is none."""
    while line := file.readline(LINE):
        if line.strip():
            return file.tell() - len(line)
    return None


def next_document(file, position, blanks):
    """Where the first document after `position` begins: at a line of text that follows so many blank lines."""
    file.seek(position)
    at_start, run = False, 0                         # of a line; we may have landed in the middle of one
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
