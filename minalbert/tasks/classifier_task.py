"""The part that all tasks share whose models end in a classifier: all tasks but questions about a context."""

import numpy as np

from ..backend import to_host
from ..model.tasks import classifier_forward
from . import metrics
from .decoding import log_softmax
from .task import DownstreamTask, Predictions


class ClassifierTask(DownstreamTask):
    """A task whose model has a classifier: the best score is the prediction."""

    def reader(self, model, examples):
        return lambda pooled, numbers: to_host(classifier_forward(pooled, model.params)[0]).astype(np.float64)

    def predictions(self, found, examples):
        scores = np.stack(found).reshape(len(examples.rows), -1)
        return Predictions(self.found(scores), scores)

    def found(self, scores):
        """scores (n, K) -> (n,) the best one's number"""
        return scores.argmax(axis=1)

    def score(self, predictions, examples):
        self.check_labels(examples)
        labels = labels_of(examples)
        return {name: getattr(metrics, name)(predictions.found, labels) for name in self.metrics}

    @property
    def names(self):
        """The labels as the task's files have them."""
        raise NotImplementedError

    def written(self, found):
        return [self.names[number] for number in found]

    def right(self, row):
        return self.names[row.label]

    def chances(self, predictions):
        """(n, K) the labels' probabilities"""
        return np.exp(log_softmax(predictions.scores))

    def probabilities(self, predictions):
        return self.chances(predictions).max(axis=1).tolist()

    def losses(self, predictions, examples):
        """The loss of each that is wrong: -log of the right label's probability."""
        labels = labels_of(examples)
        losses = -np.take_along_axis(log_softmax(predictions.scores), labels[:, None], axis=1)[:, 0]
        return losses * (predictions.found != labels)

    def classes(self, predictions, examples):
        return self.names, labels_of(examples), predictions.found


def labels_of(examples):
    return np.array([row.label for row in examples.rows])
