"""A label for each word: parts of speech, names. The first piece of a word is where its label is learnt and read."""

from pathlib import Path

import numpy as np

from ..backend import to_host
from ..data.tokenizer import UNK
from ..errors import DataError
from ..model.tasks import classifier_forward
from .decoding import log_softmax
from .objectives import TokenLabels
from .sequences import Example, check_length, single
from .task import DownstreamTask, Examples, Predictions
from .token_files import find_word_labels, read_labelled_words

CUT = "_"                                            # written for a word behind the end of what a model reads


class TokenTask(DownstreamTask):
    """labels   their names, in the order of their numbers; by default those of the file to train on, sorted

    Its files are train.conll, dev.conll and test.conll; see token_files.
    """

    kind, metrics, architecture = "token", ("accuracy",), "AlbertForTokenClassification"

    def __init__(self, name, place, max_length, labels=None):
        if place is None and not labels:
            raise DataError(f"task {name} has labels of its own, which are not named here; name the directory of its "
                            "files, or a model that `minalbert finetune` trained for it")
        self.names = tuple(labels or find_word_labels(file_of(place, "train")))
        super().__init__(name, place, max_length, labels=self.names)

    def config_json(self, scores):
        names = {"id2label": {str(number): name for number, name in enumerate(self.names)},
                 "label2id": {name: number for number, name in enumerate(self.names)}}  # fmt: skip
        return super().config_json(scores) | names

    def objective(self):
        return TokenLabels(len(self.names))

    def read(self, split):
        return read_labelled_words(split if isinstance(split, Path) else file_of(self.place, split), self.names)

    def encode(self, rows, tokenizer):
        check_length(self.max_length, 3)
        found, cut = [], []
        for row in rows:
            places, ids = [], []
            for pieces in tokenizer.encode_many(row.words):
                places.append(len(ids) + 1)          # behind [CLS]
                ids += pieces or [UNK]
            if len(ids) > self.max_length - 2:
                cut.append(row.id)
            places = [place for place in places if place < self.max_length - 1]
            label = (places, None if row.labels is None else row.labels[: len(places)])
            found.append(Example(row.id, (single(ids[: self.max_length - 2]),), label))
        return Examples(found, rows, cut=cut)

    def labels(self, items, length):
        rows = np.full((len(items), length), -1)
        for row, item in zip(rows, items, strict=True):
            places, labels = item.label
            row[places] = labels
        return rows

    def reader(self, model, examples):
        def read_off(hidden, numbers):
            scores = to_host(classifier_forward(hidden, model.params)[0]).astype(np.float64)
            return [one[examples[i].label[0]] for one, i in zip(scores, numbers, strict=True)]

        return read_off

    def predictions(self, found, examples):
        """found: for each sentence (words that were read, K)"""
        texts = [self.text(scores.argmax(axis=1), len(row.words))
                 for scores, row in zip(found, examples.rows, strict=True)]  # fmt: skip
        return Predictions(texts, found)

    def text(self, numbers, words):
        """The labels' names, with spaces between them; CUT for those of the words that are missing."""
        return " ".join([self.names[i] for i in numbers] + [CUT] * (words - len(numbers)))

    def written(self, found):
        return found

    def right(self, row):
        return self.text(row.labels, len(row.words))

    def asked(self, row):
        return (" ".join(row.words),)

    def is_labelled(self, row):
        return row.labels is not None

    def label_counts(self, examples):
        counts = np.bincount(np.concatenate([row.labels for row in examples.rows]), minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))

    def probabilities(self, predictions):
        """That all labels of a sentence are as found."""
        return [float(np.exp(log_softmax(scores).max(axis=1).sum())) for scores in predictions.scores]

    def score(self, predictions, examples):
        """The share of words, of all sentences together; one that was cut off is wrong."""
        wrong, words = self.losses(predictions, examples), [len(row.words) for row in examples.rows]
        return {"accuracy": 1 - float(wrong @ words) / sum(words)}

    def losses(self, predictions, examples):
        """The share of a sentence's words that are wrong."""
        self.check_labels(examples)
        return np.array([1 - (scores.argmax(axis=1) == row.labels[: len(scores)]).sum() / len(row.words)
                         for scores, row in zip(predictions.scores, examples.rows, strict=True)])  # fmt: skip

    def classes(self, predictions, examples):
        """As of any task, for the words that were read."""
        pairs = [(row.labels[i], one) for scores, row in zip(predictions.scores, examples.rows, strict=True)
                 for i, one in enumerate(scores.argmax(axis=1))]  # fmt: skip
        right, found = np.array(pairs).T
        return self.names, right, found


def file_of(place, split):
    return Path(place) / f"{split}.conll"
