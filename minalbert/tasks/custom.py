"""Anybody's task of one or two texts and a label: train, dev and test, each a .tsv or .jsonl file of a directory."""

from pathlib import Path

from ..errors import TaskDataError
from ..files import names_in
from .tables import label_name, read_table, rows_of
from .text_files import ADVICE, refused

ENDINGS = (".tsv", ".jsonl")


def read_custom(directory, split, columns):
    """The TextTable of a split, such as "train"."""
    return read_table(file_of(directory, split), columns)


def file_of(directory, split):
    """The one file of a split."""
    found = [name for name in names_in(directory, ADVICE) if name in [split + ending for ending in ENDINGS]]
    if len(found) != 1:
        there = f"has both {' and '.join(found)}" if found else f"has neither {split}.tsv nor {split}.jsonl"
        raise TaskDataError(f"{directory} {there}; one of them must be there")
    return Path(directory) / found[0]


def find_labels(path, columns):
    """The labels of a file for `columns._replace(labels=...)`, in order: numbers by their size, others as texts."""
    found = {label_name(row[columns.label]): line for line, row in rows_of(path, columns)}
    if len(found) < 2:
        raise refused(path, 1, f"column {columns.label!r} has {len(found)} different labels; there must be two or more")
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return tuple(sorted(found))
