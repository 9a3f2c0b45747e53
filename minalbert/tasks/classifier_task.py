"""What tasks whose models end in a classifier share: all but questions about a context."""

import numpy as np

from ..backend import to_host
from ..model.tasks import classifier_forward
from . import metrics
from .task import DownstreamTask, Predictions


class ClassifierTask(DownstreamTask):
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
        labels = np.array([row.label for row in examples.rows])
        return {name: getattr(metrics, name)(predictions.found, labels) for name in self.metrics}
