"""The nine tasks of GLUE, read from their files as distributed.

    task    files below    texts                   labels, in the order of their numbers            metrics
    cola    CoLA           a sentence              0, 1: acceptable                                 Matthews
    sst2    SST-2          a sentence              0, 1: positive                                   accuracy
    mrpc    MRPC           two sentences           0, 1: they say the same                          accuracy, F1
    stsb    STS-B          two sentences           a number from 0 to 5: how alike they are         Pearson, Spearman
    qqp     QQP            two questions           0, 1: they ask the same                          accuracy, F1
    mnli    MNLI           premise, hypothesis     contradiction, entailment, neutral               accuracy
    qnli    QNLI           question, sentence      entailment, not_entailment                       accuracy
    rte     RTE            premise, hypothesis     entailment, not_entailment                       accuracy
    wnli    WNLI           two sentences           0, 1: the second follows                         accuracy

The files are train.tsv, dev.tsv and test.tsv. MNLI has two dev and two test files, whose texts are of the same kinds
as those of training (matched) or of others (mismatched). A test file has no labels. CoLA's others have no header.
"""

from pathlib import Path
from typing import NamedTuple

from ..errors import DataError, nearest
from .tables import Columns, read_table, where_labelled

SPLITS = ("train", "dev", "test")
MATCHED = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")


class GlueTask(NamedTuple):
    """The form of a GLUE task's files, and its metrics."""

    title: str                                       # as the leaderboard and the directory have it
    columns: Columns                                 # of files with labels
    metrics: tuple = ("accuracy",)                   # functions of metrics.py; the first chooses the best checkpoint
    test: tuple | None = None                        # columns of texts in the test files, where they are others
    splits: tuple = SPLITS
    skip_broken: bool = False                        # QQP's train.tsv has lines that lack columns


def columns(texts, label="label", labels=("0", "1"), **others):
    return Columns(tuple(texts.split(", ")), label, labels, **others)


ENTAILMENT = ("entailment", "not_entailment")
THREE = ("contradiction", "entailment", "neutral")
PAIR, QUESTIONS = "sentence1, sentence2", "question1, question2"

GLUE = {
    "cola": GlueTask("CoLA", columns("4", "2", header=False), ("matthews",), test=("sentence",)),
    "sst2": GlueTask("SST-2", columns("sentence")),
    "mrpc": GlueTask("MRPC", columns("#1 String, #2 String", "Quality"), ("accuracy", "f1")),
    "stsb": GlueTask("STS-B", columns(PAIR, "score", None, range=(0, 5)), ("pearson", "spearman")),
    "qqp": GlueTask("QQP", columns(QUESTIONS, "is_duplicate"), ("accuracy", "f1"), skip_broken=True),
    "mnli": GlueTask("MNLI", columns(PAIR, "gold_label", THREE), splits=MATCHED),
    "qnli": GlueTask("QNLI", columns("question, sentence", labels=ENTAILMENT)),
    "rte": GlueTask("RTE", columns(PAIR, labels=ENTAILMENT)),
    "wnli": GlueTask("WNLI", columns(PAIR)),
}  # fmt: skip


def read_glue(name, directory, split):
    """The TextTable of a split, such as "train", of a task whose files are in a directory."""
    task = glue_task(name)
    if split not in task.splits:
        raise DataError(f"{name} has no split {split!r}; {nearest(split, task.splits)}")
    path, test = Path(directory) / f"{split}.tsv", split.startswith("test")
    wanted = task.columns
    if test:                                         # each of its rows must get a prediction: none is left out
        wanted = Columns(task.test or wanted.texts)
    return read_table(path, wanted, skip_broken=task.skip_broken and not test)


def read_glue_file(name, path):
    """The TextTable of a split's file, or of any other in the form of a test file, with labels or without."""
    task, path = glue_task(name), Path(path)
    if path.name in [f"{split}.tsv" for split in task.splits]:
        return read_glue(name, path.parent, path.stem)
    columns = task.columns._replace(texts=task.test or task.columns.texts, header=True)
    return read_table(path, where_labelled(path, columns))


def glue_task(name):
    if name not in GLUE:
        raise DataError(f"there is no GLUE task {name!r}; {nearest(name, GLUE)}")
    return GLUE[name]
