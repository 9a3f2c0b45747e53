"""Files become documents: lists of sentences that belong together, one at a time.

    lines        a sentence a line;    a blank line ends the document
    long-lines   a paragraph a line;   a blank line ends the document
    paragraphs   a blank line ends the paragraph, however its lines are wrapped;
                 three blank lines or more end the document, as between the chapters of many plain-text books

The end of a file always ends a document. (The released script joins files, so that its models learn that the last
sentence of one file is followed by the first of the next.) The last two layouts need a splitter, which divides a
paragraph into sentences; see `sentences`.

Text is UTF-8, with or without a byte-order mark. Only one document is in memory at a time, so that the text can be of
any size. A document longer than `longest` characters is an error, because its file probably marks no documents.
"""

import glob
import gzip
import math
import os
import sys
import zlib
from collections.abc import Iterable
from contextlib import nullcontext
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..arguments import of_kind, one_of, path_of
from ..errors import DataError
from .sentences import split_sentences

LAYOUTS = ("lines", "long-lines", "paragraphs")
LAYOUT_HELP = (
    "'lines' (the default): a sentence a line, a blank line between documents; 'long-lines': a paragraph a line, a "
    "blank line between documents; 'paragraphs': a blank line between paragraphs, three between documents"
)
STDIN = "-"
ENDINGS = "*.txt", "*.txt.gz"                        # of a directory's files that are read
LONGEST = 64 * 2**20                                 # characters of a document; the longest book has some 16 million
BLANKS = 3                                           # that end a document laid out in paragraphs
MARK = "\ufeff"                                      # that may begin a file
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Document(NamedTuple):
    sentences: list[str]
    source: str = ""                                 # "file:line" of its beginning, for messages
    topic: int | None = None                         # known for tiny worlds


def read_documents(paths, layout="lines", splitter=split_sentences, longest=LONGEST):
    """An iterator of Documents. `paths` are files, directories, globs, or "-" for standard input.

    A path that does not exist is an error at once, a byte that is not text when it is reached.
    """
    one_of("layout", layout, LAYOUTS, DataError)
    return _documents(find_files(paths), layout, splitter, longest)


def find_files(paths):
    """The files of all paths, in order: of a directory .txt and .txt.gz at any depth, of a glob its matches."""
    paths = [paths] if isinstance(paths, str | Path) else list(of_kind("paths", paths, Iterable, DataError))
    files = [file for path in paths for file in _files(str(path_of("path", path, DataError)))]
    if not files:
        raise DataError("no file was given; name files, directories, globs, or - for standard input")
    return files


def _files(path):
    if path == STDIN or (Path(path).exists() and not Path(path).is_dir()):      # also a pipe
        return [path]
    if Path(path).is_dir():
        found = sorted(Path(folder, name) for folder, _, names in os.walk(path, onerror=refuse_folder) for name in names
                       if any(fnmatch(name, ending) for ending in ENDINGS))
        found = [str(file) for file in found if file.is_file()]
        if not found:
            raise DataError(f"{path} is a directory without .txt or .txt.gz files; for other names give a glob")
        return found
    if not glob.has_magic(path):
        raise DataError(f"{path} does not exist")
    found = [file for file in sorted(glob.glob(path, recursive=True)) if Path(file).is_file()]
    if not found:
        raise DataError(f"{path} matches no file")
    return found


def refuse_folder(error):
    """Raise: what a folder holds that cannot be read would be missing from the corpus, and nobody would know."""
    raise DataError(f"{error.filename} cannot be read ({error.strerror}); chmod makes it readable, or name the files "
                    "without it") from error


class LineError(DataError):
    """An error in a line of a file. The number counts from the line at which reading began."""

    def __init__(self, file, number, reason):
        super().__init__(f"{file}:{number}: {reason}")
        self.number, self.reason = number, reason


def _documents(files, layout, splitter, longest):
    empty = True
    for file in files:
        for document in file_documents(file, layout, splitter, longest):
            empty = False
            yield document
    if empty:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise DataError(f"{_name(files[0])}{more} holds no text: there is nothing but blank lines, or nothing")


def file_documents(file, layout, splitter=split_sentences, longest=LONGEST, stretch=None):
    """The documents of one file, possibly none, or of its bytes from `start` to `end` if stretch=(start, end)."""
    name, blanks_to_end = _name(file), BLANKS if layout == "paragraphs" else 1
    lines, start, size, blanks = [], 0, 0, 0
    for number, line in _lines(file, name, longest, stretch):
        if line:
            start = start if size else number
            lines.append(line)
            size, blanks = size + len(line), 0
            if size > longest:
                raise LineError(name, start, _too_long(longest, blanks_to_end))
        elif size:
            blanks += 1
            lines.append(line)
            if blanks == blanks_to_end:
                yield Document(_sentences(lines, layout, splitter), f"{name}:{start}")
                lines, size = [], 0
    if size:
        yield Document(_sentences(lines, layout, splitter), f"{name}:{start}")


def _sentences(lines, layout, splitter):
    if layout == "paragraphs":
        lines = [" ".join(paragraph) for full, paragraph in groupby(lines, bool) if full]
    lines = filter(None, lines)
    return list(lines) if layout == "lines" else [sentence for line in lines for sentence in splitter(line)]


def _lines(file, name, longest, stretch):
    """(number, line without white space around it) for each line of a file, or of a stretch of its bytes."""
    stream = nullcontext(sys.stdin.buffer) if file == STDIN else _open(file)
    start, end = stretch or (0, math.inf)
    with stream as stream:
        number = 0
        if start:
            stream.seek(start)
        while start < end and (raw := _read_line(stream, name, number + 1, longest)):
            number += 1
            start += len(raw)
            line = _decode(raw, name, number)
            yield number, line.removeprefix(MARK).strip() if number == 1 else line.strip()


def _open(file):
    try:
        return gzip.open(file, "rb") if file.endswith(".gz") else open(file, "rb")
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from error


def _read_line(stream, name, number, longest):
    try:
        raw = stream.readline(longest + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise LineError(name, number, f"the compressed file is cut off or damaged: {error}") from error
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from error
    if len(raw) > longest:
        reason = f"the line is longer than {longest:,} bytes; a line must hold one sentence or paragraph"
        raise LineError(name, number, reason)
    return raw


def _decode(raw, name, number):
    if number == 1 and raw.startswith(UTF16_MARKS):
        raise DataError(f"{name}: the file is UTF-16; it must be UTF-8")
    if b"\0" in raw:
        raise LineError(name, number, "there is a zero byte: the file is binary, not text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {raw[error.start]:#04x} at place {error.start + 1} of the line is not UTF-8"
        raise LineError(name, number, reason) from error


def _name(file):
    return "standard input" if file == STDIN else file


def _too_long(longest, blanks):
    mark = "a blank line" if blanks == 1 else f"{blanks} blank lines"
    return f"the document that begins here is longer than {longest:,} characters; {mark} must end each"
