"""A downstream task: all of it that is neither a model nor training.

    task = open_task("sst2", "glue/SST-2", max_length=128)
    objective = task.objective()                     # which heads its model has, and the loss
    examples = task.examples("dev", tokenizer)
    inputs, labels = task.batch([examples[i] for i in chosen])
    predictions = task.predict(model, examples)
    scores = task.score(predictions, examples)       # {"accuracy": 0.92}
    open_task(**task.facts)                          # the same task again, without its files

A split is one of `splits`, or the Path of a file in the form of one. The files of a kind of task, and what is read off
its model, are in text_task, choice_task and question_task.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..batch import Batch
from ..errors import DataError, InputError, nearest
from ..interop.unread import TASK
from ..parallel import ALONE
from .predicting import scores_of_sequences


class ReadCounts(NamedTuple):
    """What became of a split's rows."""

    rows: int                                        # examples or questions
    sequences: int                                   # that a model reads
    broken: int = 0                                  # lines that could not be read and were left out
    cut: int = 0                                     # rows that lost tokens
    unplaced: int = 0                                # questions whose answer is in no window


class Examples:
    """The examples of a split, as a model reads them, and the rows of its files that they were made of.

    An example has `sequences` and `label`, and a row has `id`. A question may become several examples, its windows.
    """

    def __init__(self, items, rows, **counts):
        self._items, self.rows = items, rows
        sequences = sum(len(item.sequences) for item in items)
        self.report = ReadCounts(len(rows), sequences, **{name: len(lost) for name, lost in counts.items()})

    def __len__(self):
        return len(self._items)

    def __getitem__(self, number):
        return self._items[number]


class Predictions(NamedTuple):
    """In the order of the rows."""

    found: Any                                       # (n,) labels' numbers or numbers; of questions n texts
    scores: Any                                      # (n, K) of labels or options; of questions n FoundAnswers


class DownstreamTask:
    """kind      label, number, choice, span, answer or token
    architecture   of transformers' model for such a task, or None
    metrics   the names of its scores; the first chooses the best checkpoint
    splits    the names of its files or directories
    """

    kind: str
    architecture: str | None = None
    metrics: tuple
    splits = ("train", "dev", "test")

    def __init__(self, name, place, max_length, **settings):
        """settings: what else `open_task` needs to open the same task again."""
        self.name, self.place, self.max_length, self._settings = name, place, max_length, settings

    @property
    def facts(self):
        return {"name": self.name, "max_length": self.max_length, **self._settings}

    @property
    def dev(self):
        """The split that chooses a checkpoint."""
        return next(split for split in self.splits if split.startswith("dev"))

    def facts_after(self, scores):
        """The facts, with those that scores on dev decide. scores: None if there are none yet"""
        return self.facts

    def config_json(self, scores):
        """Entries of config.json: the task, and those with which transformers opens a model for it."""
        return {TASK: self.facts_after(scores)} | ({"architectures": [self.architecture]} if self.architecture else {})

    def objective(self):
        raise NotImplementedError

    def examples(self, split, tokenizer):
        """The Examples of a split, and what was lost of it: `.report`."""
        if not isinstance(split, Path):
            self.check_split(split)
        examples = self.encode(self.read(split), tokenizer)
        if split in self.splits and not split.startswith("test"):
            self.check_labels(examples)
        return examples

    def read(self, split):
        raise NotImplementedError

    def encode(self, rows, tokenizer):
        """Examples of what was read."""
        raise NotImplementedError

    def labels(self, items, length):
        """The labels of examples for the objective. length: of the batch's sequences"""
        return np.array([item.label for item in items])

    def batch(self, items):
        sequences = [sequence for item in items for sequence in item.sequences]
        inputs = Batch.pad(*([list(column) for column in zip(*sequences, strict=True)]))
        return inputs, self.labels(items, inputs.input_ids.shape[1])

    def predict(self, model, examples, ranks=ALONE):
        """Predictions for all rows, without dropout. Ranks share the sequences, and all find the same."""
        self.check_model(model)
        sequences = [sequence for item in examples for sequence in item.sequences]
        reads, read_off = self.objective().reads, self.reader(model, examples)
        return self.predictions(scores_of_sequences(model, sequences, reads, read_off, ranks), examples)

    def reader(self, model, examples):
        """A function of what the objective reads of some sequences, and of their numbers: its result for each."""
        raise NotImplementedError

    def predictions(self, found, examples):
        """Predictions from the results of all sequences."""
        raise NotImplementedError

    def score(self, predictions, examples):
        """{metric: value}"""
        raise NotImplementedError

    def written(self, found):
        """Labels, numbers or answers of `Predictions.found` as texts, as the task's files have them."""
        raise NotImplementedError

    def right(self, row):
        """The right one as a text."""
        raise NotImplementedError

    def asked(self, row):
        """The texts that a row is about."""
        raise NotImplementedError

    def probabilities(self, predictions):
        """For each row the probability of what was found; None of numbers."""
        raise NotImplementedError

    def losses(self, predictions, examples):
        """(n,) how wrong each is; 0 if it is right"""
        raise NotImplementedError

    def classes(self, predictions, examples):
        """(their names, (n,) the right ones' numbers, (n,) those that were found), or None if there are no classes."""
        return

    def label_counts(self, examples):
        """{label: how many there are}, in the order of their numbers; {} where no example has a label by a name."""
        return {}

    def check_model(self, model):
        objective = self.objective()
        for head in objective.heads:
            if not any(name.startswith(f"{head}.") for name in model.params):
                raise InputError(f"the model has no {head} head, which task {self.name} needs; fine-tune it first")
        if "classifier" in objective.heads and (outputs := len(model.params["classifier.b"])) != objective.outputs:
            raise InputError(f"the model's classifier has {outputs} outputs; task {self.name} has {objective.outputs}")
        if self.max_length > (longest := model.config.max_position_embeddings):
            raise InputError(f"max_length is {self.max_length}; the model reads at most {longest} tokens")

    def check_split(self, split):
        """Refuse the name of a split where there is none."""
        if self.place is None:
            raise DataError(f"task {self.name} was opened without its files; name their directory")
        if split not in self.splits:
            raise DataError(f"{self.name} has no split {split!r}; {nearest(split, self.splits)}")

    def check_labels(self, examples):
        for row in examples.rows:
            if not self.is_labelled(row):
                raise DataError(f"example {row.id} of task {self.name} has no label; training and scores need them")

    def is_labelled(self, row):
        return row.label is not None
