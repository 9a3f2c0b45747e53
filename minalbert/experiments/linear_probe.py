"""What a linear classifier reads in a model's state at [CLS]: has it got the information, whatever its head was for?

Logistic regression with a small penalty, by Newton's method, on states that are standardised. The weights of the model
stay as they are. It is trained on other stories than those it is tested on.
"""

import numpy as np

from ..backend import to_host

PENALTY = 1e-2                                       # of the squared weights, for each example
STEPS = 20                                           # of Newton's method, which needs some six


def probe(model, training, testing):
    """(accuracy, recall of label 0, recall of label 1) on the batch `testing`."""
    states = states_at_cls(model, training)
    mean, spread = states.mean(0), states.std(0) + 1e-6
    weights = fitted((states - mean) / spread, training.sop_labels)
    right = (with_one((states_at_cls(model, testing) - mean) / spread) @ weights > 0) == (testing.sop_labels == 1)
    return float(right.mean()), *(float(right[testing.sop_labels == label].mean()) for label in (0, 1))


def states_at_cls(model, batch, rows=64):
    """(B, H) in float64"""
    found = []
    for first in range(0, len(batch.input_ids), rows):
        ids, mask, types = (array[first : first + rows] for array in batch[:3])
        hidden, _ = model.encode(ids, mask, types, np.zeros((len(ids), 1), np.int32))
        found.append(to_host(hidden)[:, 0])
    return np.concatenate(found).astype(np.float64)


def fitted(x, labels):
    """Weights (H + 1,) that minimise the mean cross-entropy plus the penalty; the bias has none."""
    x, weights = with_one(x), np.zeros(x.shape[1] + 1)
    ridge = np.full(len(weights), PENALTY)
    ridge[-1] = 0.0
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(x @ weights)))
        gradient = x.T @ (chance - labels) / len(x) + ridge * weights
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x / len(x) + np.diag(ridge + 1e-9)
        weights -= np.linalg.solve(curvature, gradient)
    return weights


def with_one(x):
    return np.column_stack([x, np.ones(len(x))])
