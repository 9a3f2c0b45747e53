"""The gradient of a task's loss: the encoder by an `Encoding`, the head by its pair, and back through both.

    loss_and_grads(model, objective, inputs, labels)         of a batch
    gradient_of(micro_batches, dropout, scale)               of a batch that comes in slices, each one worker's
"""

import time
from typing import Any, NamedTuple

import numpy as np

from ..backend import to_device
from ..batch import Inputs
from ..encoding import Encoding, FrozenEncoding
from ..parallel import UNSHARED, Gradient, SliceWorker, sum_gradients
from ..params import Params
from .objectives import Answers, HeadContext, positions_read


class TaskGradient(NamedTuple):
    """A task's loss and the gradients of all parameters."""

    loss: Any                                        # a single number on the model's device
    grads: Params


class TaskLoss(NamedTuple):
    """A task's loss as a training step logs it."""

    total: Any

    def numbers(self):
        """By the names of metrics.jsonl, on the host."""
        return {"loss": float(self.total)}


class TaskBatch(NamedTuple):
    """Examples as a training step reads them. labels: as the objective says"""

    input_ids: np.ndarray
    attention_mask: np.ndarray
    token_type_ids: np.ndarray
    labels: Any


def loss_and_grads(model, objective, inputs, labels, dropout=None, rate=0.0, into=None, recompute=False):
    """The loss of a batch and the gradient of every parameter, the head's among them.

    inputs   input_ids, attention_mask, token_type_ids
    labels   as the objective says
    rate     of the head's dropout; the encoder's are in the config
    into     gradients to add to
    """
    positions = positions_read(objective.reads, len(inputs[0]))
    encoding = model.forward(*inputs, dropout=dropout, recompute=recompute, positions=positions)
    ctx = HeadContext(model.params, model.config, rate, dropout)
    loss, cache = objective.forward(getattr(encoding, objective.reads), labels, ctx)
    grads = model.params.zeros_like() if into is None else into
    dx = objective.backward(1.0, cache, grads)
    return TaskGradient(loss, encoding.backward(**{f"d{objective.reads}": dx}, into=grads))


def gradient_function(workers, objective, rate=0.0, recompute=0, shares=UNSHARED, frozen=False):
    """gradient_of(micro_batches, dropout, scale) -> Gradient, of the mean loss over all examples of the TaskBatches.

    rate     of the head's dropout
    shares   TensorShares of the ranks that share a batch; the TaskBatches are this rank's
    frozen   is the gradient wanted of the heads alone, and the encoder without dropout?
    """
    worker, params, config, ranks = SliceWorker(workers), workers.params, workers.config, shares.ranks

    def slice_gradient(batch, first, dropout, total, scale, grads):
        """first: the number of its first sequence in the whole batch"""
        start = time.perf_counter()
        key = dropout and dropout.at(example=dropout.example + first)
        first_only = to_device(np.zeros((len(batch.input_ids), 1), int), params.device)
        read = first_only if objective.reads == "pooled" else None
        inputs = Inputs(*batch[:3])
        encoding = FrozenEncoding(worker, inputs, read) if frozen else Encoding(worker, inputs, read, key, recompute)
        labels, ctx = on_device(batch.labels, params.device), HeadContext(params, config, rate, key)
        loss, cache = objective.forward(getattr(encoding, objective.reads), labels, ctx, total)
        middle = time.perf_counter()
        dx = objective.backward(scale, cache, grads)
        encoding.backward(**{f"d{objective.reads}": dx}, into=grads)
        return Gradient(TaskLoss(loss), grads, middle - start, time.perf_counter() - middle)

    def gradient_of(micro_batches, dropout=None, scale=1.0):
        sizes = [len(batch.input_ids) for batch in micro_batches]
        known = ranks.gather((sum(objective.count(batch.labels) for batch in micro_batches), sum(sizes)))
        total, before = sum(count for count, _ in known), sum(size for _, size in known[: ranks.rank])
        firsts = np.cumsum([before, *sizes])
        slices = [(batch, int(first), dropout, total, scale)
                  for batch, first in zip(micro_batches, firsts, strict=False)]
        return sum_gradients(shares, workers.sum_of(slice_gradient, slices))

    return gradient_of


def on_device(labels, device):
    if isinstance(labels, Answers):
        return Answers(*(None if array is None else to_device(array, device) for array in labels))
    return to_device(labels, device)
