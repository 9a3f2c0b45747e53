"""Tasks of one text or two, with a label or a number: GLUE's nine, and anybody's."""

from functools import partial
from pathlib import Path

import numpy as np

from ..arguments import one_of
from ..errors import DataError
from .classifier_task import ClassifierTask, labels_of
from .custom import file_of, find_labels, read_custom
from .glue import glue_task, read_glue, read_glue_file
from .objectives import Labels, Numbers
from .sequences import text_examples
from .tables import Columns, names_of, read_table, where_labelled
from .task import Examples

USUAL = ("sentence",), ("sentence1", "sentence2")    # columns of texts that need not be named


class TextTask(ClassifierTask):
    """columns   a Columns of files with labels
    read      function of a split: its TextTable
    """

    architecture = "AlbertForSequenceClassification"

    def __init__(self, name, place, max_length, columns, metrics, read, **settings):
        super().__init__(name, place, max_length, **settings)
        self.columns, self.metrics, self.read = columns, metrics, read

    def encode(self, table, tokenizer):
        encoded = text_examples(table.examples, tokenizer, self.max_length)
        return Examples(encoded.examples, table.examples, broken=table.broken, cut=encoded.cut)

    def asked(self, row):
        return row.texts


class LabelTask(TextTask):
    """One label of several for each row."""

    kind = "label"

    def objective(self):
        return Labels(len(self.columns.labels))

    @property
    def names(self):
        return self.columns.labels

    def config_json(self, scores):
        names = {"id2label": {str(number): name for number, name in enumerate(self.names)},
                 "label2id": {name: number for number, name in enumerate(self.names)}}  # fmt: skip
        return super().config_json(scores) | names

    def label_counts(self, examples):
        counts = np.bincount(labels_of(examples), minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))


class NumberTask(TextTask):
    """A number for each row, within a range."""

    kind = "number"

    def objective(self):
        return Numbers()

    def config_json(self, scores):
        return super().config_json(scores) | {"problem_type": "regression"}

    def found(self, scores):
        return scores[:, 0]

    def written(self, found):
        return [f"{number:.6g}" for number in np.clip(found, *self.columns.range)]

    def right(self, row):
        return f"{row.label:.6g}"

    def probabilities(self, predictions):
        return [None] * len(predictions.found)

    def losses(self, predictions, examples):
        return np.abs(predictions.found - labels_of(examples))

    def classes(self, predictions, examples):
        return None


def open_glue(name, place, max_length):
    about = glue_task(name)
    kind = NumberTask if about.columns.labels is None else LabelTask
    task = kind(name, place, max_length, about.columns, about.metrics, partial(read_glue_split, name, place))
    task.splits = about.splits
    return task


def read_glue_split(name, place, split):
    return read_glue_file(name, split) if isinstance(split, Path) else read_glue(name, place, split)


def open_custom(name, place, max_length, texts=None, label="label", labels=None, kind="label", range=None):
    """Anybody's task: train, dev and test, each a .tsv or a .jsonl file.

    texts    the columns of the texts, one or two; by default sentence, or sentence1 and sentence2
    label    the column of the label, which a test file may lack
    labels   in the order of their numbers; by default those of the file to train on, sorted
    kind     "label" or "number"
    range    of a number: the lowest and the highest there is
    """
    one_of("kind", kind, ("label", "number"), DataError)
    if place is None and not (texts and (labels or kind == "number")):
        raise DataError(f"task {name} has columns and labels of its own, which are not named here; name the directory "
                        "of its files, or a model that `minalbert finetune` trained for it")
    if labels and kind == "number":
        raise DataError(f"labels is {','.join(labels)}, and kind is 'number', which has no names; labels are of kind "
                        "'label'")
    if range and kind != "number":
        raise DataError(f"range is {range[0]:g} to {range[1]:g}, and kind is {kind!r}, whose labels are names; a range "
                        "is of kind 'number'")
    columns = Columns(tuple(texts or usual_texts(file_of(place, "train"))), label)
    if kind == "number":
        columns = columns._replace(range=tuple(range)) if range else columns
        opened, metrics, settings = NumberTask, ("pearson", "spearman"), {"kind": kind, "range": range}
    else:
        columns = columns._replace(labels=tuple(labels or find_labels(file_of(place, "train"), columns)))
        opened, metrics, settings = LabelTask, ("accuracy", "matthews"), {"labels": columns.labels}
    settings |= {"texts": columns.texts, "label": label}
    return opened(name, place, max_length, columns, metrics, partial(read_custom_split, place, columns), **settings)


def usual_texts(path):
    names = names_of(path, Columns(()))
    for texts in USUAL:
        if {*texts} <= {*names}:
            return texts
    raise DataError(f"{path} has the columns {', '.join(names)}; name those of the texts, one or two of them")


def read_custom_split(place, columns, split):
    if split in ("train", "dev"):
        return read_custom(place, split, columns)
    path = split if isinstance(split, Path) else file_of(place, split)
    return read_table(path, where_labelled(path, columns))
