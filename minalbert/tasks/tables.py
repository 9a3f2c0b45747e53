"""Rows of one or two texts and a label, in a TSV file, or a JSON object a line.

A TSV file is cut at its tabs and nowhere else: quotes are letters, as those who made GLUE meant them, so that one
without its partner swallows no line. A file without a header has the columns "1", "2", ...
"""

import json
import math
from pathlib import Path
from typing import NamedTuple

from ..errors import nearest
from .text_files import parsed, read_lines, refused

JSON_LINES = (".jsonl", ".json", ".ndjson")


class Columns(NamedTuple):
    """Which columns of a file are read."""

    texts: tuple                                     # one, or two of a pair
    label: str | None = None                         # none in a test file
    labels: tuple | None = None                      # of classes, in the order of their numbers; None: it is a number
    range: tuple = (-math.inf, math.inf)             # of a number
    header: bool = True                              # the first line has the columns' names


class TextExample(NamedTuple):
    """A row: its texts and its label."""

    id: str                                          # the number of the example in its file, from 0
    texts: tuple
    label: int | float | None


class TextTable(NamedTuple):
    """All rows of a file."""

    examples: list
    broken: list                                     # lines of another number of columns that were left out


def read_table(path, columns, skip_broken=False):
    """A whole file as a TextTable, or an error about its first wrong line.

    skip_broken: leave out lines that have another number of columns than the first, and list them.
    """
    examples, broken = [], []
    for line, row in rows_of(path, columns, broken if skip_broken else None):
        texts = tuple(text_of(path, line, name, row[name]) for name in columns.texts)
        label = None if columns.label is None else label_of(path, line, columns, row[columns.label])
        examples.append(TextExample(str(len(examples)), texts, label))
    if not examples:
        raise no_rows(path)
    return TextTable(examples, broken)


def no_rows(path):
    """The error about a file without examples."""
    return refused(path, 1, "there are no rows; there must be at least one below the header")


def where_labelled(path, columns):
    """The columns without that of the label, if a file has none."""
    return columns if columns.label in names_of(path, columns) else columns._replace(label=None)


def names_of(path, columns):
    """The names of a file's columns, or of its first object."""
    (line, first), *_ = read_lines(path)
    return [*parsed(path, first, line)] if is_json(path) else header_of(path, first, columns)


def header_of(path, first, columns):
    names = first.split("\t")
    if columns.header and len(names) == 1 and any(sign in first for sign in ",;"):
        raise refused(path, 1, f"it is {first[:40]!r}, without a tab; tabs must stand between the columns, and neither "
                      "commas nor semicolons")
    return names if columns.header else [str(i + 1) for i in range(len(names))]


def is_json(path):
    return Path(path).suffix.lower() in JSON_LINES


def rows_of(path, columns, broken=None):
    """(line, {column: value}) of each row. broken: a list that gets the lines of another number of columns."""
    lines = read_lines(path)
    names = [*columns.texts, *([] if columns.label is None else [columns.label])]
    if is_json(path):
        for line, text in lines:
            row = parsed(path, text, line)
            check_names(path, line, names, list(row))
            yield line, row
        return
    header = header_of(path, lines[0][1], columns)
    check_names(path, 1, names, header)
    for line, text in lines[columns.header :]:
        values = text.split("\t")
        if len(values) == len(header):
            yield line, dict(zip(header, values, strict=True))
        elif broken is not None:
            broken.append(line)
        else:
            raise refused(path, line, f"it has {len(values)} columns where the first line has {len(header)}; one tab "
                          "must stand between two columns")  # fmt: skip


def check_names(path, line, wanted, names):
    for name in wanted:
        if names.count(name) != 1:
            reason = f"column {name!r} is there twice" if name in names else f"there is no column {name!r}"
            raise refused(path, line, f"{reason}; {nearest(name, names)}")


def text_of(path, line, name, value):
    if not isinstance(value, str):
        raise refused(path, line, f"column {name!r} is {json.dumps(value)[:40]}; it must be a text")
    return value


def label_name(value):
    """A label as a text; JSON's true, 1 and 1.5 as they are written."""
    return value if isinstance(value, str) else json.dumps(value)


def label_of(path, line, columns, value):
    name = label_name(value)
    if columns.labels is not None:
        if name not in columns.labels:
            raise refused(path, line, f"column {columns.label!r} is {name[:40]!r}; it must be one of: "
                          f"{', '.join(columns.labels)}")  # fmt: skip
        return columns.labels.index(name)
    least, most = columns.range
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and least <= number <= most):
        limits = f" from {least:g} to {most:g}" if math.isfinite(least) else ""
        raise refused(path, line, f"column {columns.label!r} is {name[:40]!r}; it must be a number{limits}")
    return number
