"""A model's errors: which classes it takes for which, and its mistakes, the worst first."""

from typing import NamedTuple

import numpy as np

from .dev_test import guesses, same_answer


class Confusion(NamedTuple):
    """Counts of the classes that are taken for each other."""

    names: tuple                                     # of the K classes
    counts: np.ndarray                               # (K, K) rows by right class and found class


class Mistake(NamedTuple):
    """An example for which a model is wrong."""

    id: str
    right: str
    found: str
    loss: float                                      # how wrong: see `task.losses`
    probability: float | None                        # of what was found
    texts: tuple


def confusion(task, predictions, examples):
    """The Confusion of a task with classes, else None."""
    classes = task.classes(predictions, examples)
    if classes is None:
        return None
    names, right, found = classes
    counts = np.zeros((len(names), len(names)), int)
    np.add.at(counts, (right, found), 1)
    return Confusion(names, counts)


def mistakes(task, predictions, examples, most=10):
    """The worst Mistakes first: by their loss, and of equal ones those of which the model is surest."""
    losses, probabilities = task.losses(predictions, examples), task.probabilities(predictions)
    written = task.written(predictions.found)
    order = sorted(np.flatnonzero(losses > 0).tolist(), key=lambda i: (-losses[i], -(probabilities[i] or 0)))
    return [Mistake(row.id, task.right(row), written[i], float(losses[i]), probabilities[i], task.asked(row))
            for i, row in ((i, examples.rows[i]) for i in order[:most])]  # fmt: skip


def guessing(task, examples):
    """(the most frequent label or "no answer", the scores of one who always says it), or None; see `same_answer`."""
    same = same_answer(task, examples)
    return None if same is None else (task.written(same.found)[0] or "no answer", guesses(task, examples))


def constant(task, predictions):
    """The prediction for every row as a text, if it is always the same; else None."""
    written = task.written(predictions.found)
    return written[0] if len(written) > 1 and len({*written}) == 1 else None
