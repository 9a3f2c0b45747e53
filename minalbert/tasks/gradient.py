"""The gradient of a task's loss: the encoder by `Albert.forward`, the head by its pair, and back through both."""

from typing import Any, NamedTuple

import numpy as np

from ..params import Params
from .objectives import HeadContext


class TaskGradient(NamedTuple):
    loss: Any                                        # a single number on the model's device
    grads: Params


def loss_and_grads(model, objective, inputs, labels, dropout=None, rate=0.0, into=None, recompute=False):
    """The loss of a batch and the gradient of every parameter, the head's among them.

    inputs   input_ids, attention_mask, token_type_ids
    labels   as the objective says
    rate     of the head's dropout; the encoder's are in the config
    into     gradients to add to
    """
    unread = np.zeros((len(inputs[0]), 0), int) if objective.reads == "pooled" else None
    encoding = model.forward(*inputs, dropout=dropout, recompute=recompute, positions=unread)
    ctx = HeadContext(model.params, model.config, rate, dropout)
    loss, cache = objective.forward(getattr(encoding, objective.reads), labels, ctx)
    grads = model.params.zeros_like() if into is None else into
    dx = objective.backward(1.0, cache, grads)
    return TaskGradient(loss, encoding.backward(**{f"d{objective.reads}": dx}, into=grads))
