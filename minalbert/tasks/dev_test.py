"""How well a model does on a task's dev set, and what the same answer to everything would score."""

import math
from collections import Counter, namedtuple

import numpy as np

from ..parallel import ALONE
from .decoding import FoundAnswer
from .task import Predictions

SAME = "same_answer"                                 # the share of the examples that get the most frequent answer


class DevTest:
    """test(model) -> scores: the task's metrics, and how many examples get the same answer."""

    def __init__(self, task, examples, ranks=ALONE):
        self.task, self.examples, self.ranks = task, examples, ranks
        self.scores = scores_class((*task.metrics, SAME))
        known = guesses(task, examples)
        self.baselines = namedtuple("Guesses", [f"guessing_{name}" for name in known])(*known.values())

    def __call__(self, model):
        predictions = self.task.predict(model, self.examples, self.ranks)
        scores = {name: float(value) for name, value in self.task.score(predictions, self.examples).items()}
        return self.scores(**scores, **{SAME: most_frequent(predictions.found)})

    def milestones(self, found):
        metric = self.task.metrics[0]
        guess = getattr(self.baselines, f"guessing_{metric}", 0.0)
        if getattr(found, metric) > guess + 1 / math.sqrt(len(self.examples.rows)):
            yield "better than guessing", (f"dev {metric} {getattr(found, metric):.3f} is above the {guess:.3f} of "
                                           "always the same answer")


def scores_class(names):
    """A record of these scores; the first is that which chooses a checkpoint."""
    kind = namedtuple("DevScores", names)
    kind.headline = lambda self: [(names[0], self[0])]
    return kind


def most_frequent(answers):
    """The share of the most frequent one."""
    return Counter(np.asarray(answers).tolist()).most_common(1)[0][1] / len(answers)


def guesses(task, examples):
    """{metric: score} of the same answer to everything; {} where no answer is one."""
    same = same_answer(task, examples)
    if same is None:
        return {}
    scores = task.score(same, examples)
    return {name: value for name, value in scores.items() if name not in task.facts}        # its threshold


def same_answer(task, examples):
    """Predictions of the most frequent label, or of no answer, everywhere; None of numbers, and of SQuAD 1.1."""
    if task.kind == "answer":
        none = [FoundAnswer(row.id, "", [], math.inf) for row in examples.rows]
        return Predictions([answer.text for answer in none], none)
    if task.kind == "token":
        most = np.bincount(np.concatenate([row.labels for row in examples.rows])).argmax()
        scores = np.arange(len(task.names)) == most
        return task.predictions([np.tile(scores, (len(row.words), 1)) for row in examples.rows], examples)
    if task.kind not in ("label", "choice"):
        return None
    labels = np.array([row.label for row in examples.rows])
    return Predictions(np.full(len(labels), np.bincount(labels).argmax()), None)
