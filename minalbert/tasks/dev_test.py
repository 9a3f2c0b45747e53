"""How well a model does on a task's dev set, and what the same answer to everything would score."""

import math
from collections import Counter, namedtuple

import numpy as np

from ..parallel import ALONE
from .decoding import FoundAnswer
from .task import Predictions

SAME = "same_answer"                                 # the share of the examples that get the most frequent answer
CORRELATIONS = "matthews", "pearson", "spearman"


class DevTest:
    """test(model) -> scores: the task's metrics, and how many examples get the same answer."""

    def __init__(self, task, examples, ranks=ALONE):
        self.task, self.examples, self.ranks = task, examples, ranks
        self.scores = scores_class((*task.metrics, SAME))
        known = guesses(task, examples)
        values = {f"guessing_{name}": value for name, value in known.items()}
        values["beyond_chance"] = beyond_chance(task.metrics[0], known[task.metrics[0]], len(examples.rows))
        self.baselines = namedtuple("Guesses", values)(**values)

    def __call__(self, model):
        predictions = self.task.predict(model, self.examples, self.ranks)
        scores = {name: float(value) for name, value in self.task.score(predictions, self.examples).items()}
        return self.scores(**scores, **{SAME: most_frequent(self.task.written(predictions.found))})

    def milestones(self, found):
        metric = self.task.metrics[0]
        guess, limit = getattr(self.baselines, f"guessing_{metric}"), self.baselines.beyond_chance
        if getattr(found, metric) > limit:
            yield "better than guessing", (f"dev {metric} {getattr(found, metric):.3f}; guessing scores {guess:.3f}, "
                                           f"and by chance up to {limit:.3f}")


def scores_class(names):
    """A record of these scores; the first is that which chooses a checkpoint."""
    kind = namedtuple("DevScores", names)
    kind.headline = lambda self: [(names[0], self[0])]
    return kind


def most_frequent(answers):
    """The share of the most frequent one."""
    return Counter(answers).most_common(1)[0][1] / len(answers)


def guesses(task, examples):
    """{metric: score} of the same answer to everything; 0 of numbers, which then correlate with nothing."""
    same = same_answer(task, examples)
    if same is None:
        return dict.fromkeys(task.metrics, 0.0)
    scores = task.score(same, examples)
    return {name: value for name, value in scores.items() if name not in task.facts}        # its threshold


def beyond_chance(metric, guess, count):
    """Two standard errors above the score of guessing: a share's is at most 1/(2√count), a correlation's 1/√count."""
    return min(1.0, guess + (2 if metric in CORRELATIONS else 1) / math.sqrt(count))


def same_answer(task, examples):
    """Predictions of the most frequent label or answer, or of no answer in SQuAD 2.0, everywhere; None of numbers."""
    if task.kind == "answer":
        none = [FoundAnswer(row.id, "", [], math.inf) for row in examples.rows]
        return Predictions([answer.text for answer in none], none)
    if task.kind == "token":
        most = np.bincount(np.concatenate([row.labels for row in examples.rows])).argmax()
        scores = np.arange(len(task.names)) == most
        return task.predictions([np.tile(scores, (len(row.words), 1)) for row in examples.rows], examples)
    if task.kind == "number":
        return None
    if task.kind == "span":
        (most, _), *_ = Counter(map(task.right, examples.rows)).most_common(1)
        return Predictions([most] * len(examples.rows), None)
    labels = np.array([row.label for row in examples.rows])
    return Predictions(np.full(len(labels), np.bincount(labels).argmax()), None)
