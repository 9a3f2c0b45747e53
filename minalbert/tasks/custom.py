"""Anybody's task of one or two texts and a label: train, dev and test, each a .tsv or .jsonl file of a directory."""

from collections import Counter
from pathlib import Path

from ..errors import TaskDataError
from ..files import names_in
from .tables import label_name, no_rows, read_table, rows_of
from .text_files import ADVICE, refused

ENDINGS = (".tsv", ".jsonl")
FEW = 10                                             # labels, each of which may have one example


def read_custom(directory, split, columns):
    """The TextTable of a split, such as "train"."""
    return read_table(file_of(directory, split), columns)


def file_of(directory, split):
    """The one file of a split."""
    found = [name for name in names_in(directory, ADVICE) if name in [split + ending for ending in ENDINGS]]
    if len(found) != 1:
        there = (f"has both {' and '.join(found)}; only one of them may be there" if found else
                 f"has neither {split}.tsv nor {split}.jsonl; one of them must be there")
        raise TaskDataError(f"{directory} {there}")
    return Path(directory) / found[0]


def find_labels(path, columns):
    """The labels of a file for `columns._replace(labels=...)`, in order: numbers by their size, others as texts."""
    found, counts = {}, Counter()
    for line, row in rows_of(path, columns):
        name = label_name(row[columns.label])
        found.setdefault(name, line)
        counts[name] += 1
    if not found:
        raise no_rows(path)
    for name, line in found.items():
        if not name.strip():
            raise refused(path, line, f"column {columns.label!r} is empty; each example must have a label")
    if len(found) < 2:
        raise refused(path, 1, f"column {columns.label!r} has only the label {next(iter(found))[:40]!r}; there must be "
                      "two or more")
    if len(found) >= FEW and sum(count == 1 for count in counts.values()) > 0.9 * len(found):
        raise refused(path, 1, f"column {columns.label!r} has {len(found):,} labels in {counts.total():,} rows, nearly "
                      "all of them once; it must be a column whose labels recur, or one of numbers with --kind number")
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(sorted(found))
