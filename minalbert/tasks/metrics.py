"""The scores of GLUE's tasks: of predictions against labels, both arrays (n,).

    accuracy      the share that is right
    f1            2 TP / (2 TP + FP + FN), of class 1
    matthews      the correlation of two classes, or of more: 0 where one of the two is constant
    pearson       the correlation of two lists of numbers, nan where one is constant, as scipy has it
    spearman      that of their ranks; equal numbers share the mean of their ranks
"""

import numpy as np


def accuracy(predictions, labels):
    return float(np.mean(predictions == labels))


def f1(predictions, labels):
    hits = np.sum((predictions == 1) & (labels == 1))
    named = np.sum(predictions == 1) + np.sum(labels == 1)
    return float(2 * hits / named) if named else 0.0


def matthews(predictions, labels):
    classes = np.union1d(predictions, labels)
    predicted, right = (classes[:, None] == numbers for numbers in (predictions, labels))
    n, hits = len(labels), np.sum(predictions == labels)
    p, r = predicted.sum(axis=1), right.sum(axis=1)
    spread = (n * n - p @ p) * (n * n - r @ r)
    return float((hits * n - p @ r) / np.sqrt(float(spread))) if spread else 0.0


def pearson(predictions, labels):
    if any(np.ptp(numbers) == 0 for numbers in (predictions, labels)):
        return float("nan")                          # their distance from their mean may be rounding, and not 0
    x, y = (np.asarray(numbers, float) - np.mean(numbers) for numbers in (predictions, labels))
    spread = np.linalg.norm(x) * np.linalg.norm(y)
    return float(x @ y / spread) if spread else float("nan")


def spearman(predictions, labels):
    return pearson(ranks(predictions), ranks(labels))


def ranks(numbers):
    """1 for the smallest; equal numbers share the mean of their ranks."""
    _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]
