"""The whole computation: a batch to two losses, and the losses back to every gradient.

    total = MLM + SOP, equally weighted: each the mean over its targets

A model without one of the heads trains on the other alone; the loss it lacks is None.
"""

from typing import Any, NamedTuple

from ..backend import array_module
from ..layers import cross_entropy_backward, cross_entropy_forward, key_mask
from .embeddings import embeddings_backward, embeddings_forward
from .encoder import Context, encoder_backward, encoder_forward
from .heads import (
    mlm_backward,
    mlm_forward,
    pooler_backward,
    pooler_forward,
    sop_backward,
    sop_forward,
)


class Losses(NamedTuple):
    """Single numbers on the model's device; on a GPU, `float(losses.total)` waits for it."""

    mlm: Any
    sop: Any
    total: Any

    def numbers(self):
        """By the names of metrics.jsonl, on the host; None where the model has no head for it."""
        mlm, sop = (None if loss is None else float(loss) for loss in (self.mlm, self.sop))
        return {"loss": (mlm or 0.0) + (sop or 0.0), "mlm_loss": mlm, "sop_loss": sop}


class Totals(NamedTuple):
    """What the two losses are divided by, where the batch is one part of a larger one."""

    targets: float | None = None
    sequences: float | None = None


class Cache(NamedTuple):
    embeddings: tuple
    encoder: tuple
    mlm: tuple | None                                # head and loss
    sop: tuple | None                                # pooler, head and loss
    config: Any


def pretraining_forward(params, batch, config, stream=None, recompute=False, totals=Totals()):
    x, embeddings = embeddings_forward(batch.input_ids, batch.token_type_ids, params, config, stream)
    mask = key_mask(batch.attention_mask, x.real.dtype)
    hidden, encoder = encoder_forward(x, Context(params, mask, config, stream), recompute)
    mlm_loss = sop_loss = mlm = sop = None
    if "mlm.bias" in params:
        logits, head = mlm_forward(hidden, batch.mlm_positions, params, config)
        mlm_loss, loss = cross_entropy_forward(logits, batch.mlm_labels, batch.mlm_weights, totals.targets)
        mlm = head, loss
    if "sop.b" in params:
        pooled, pooler = pooler_forward(hidden, params)
        logits, head = sop_forward(pooled, params)
        every = array_module(hidden).ones(len(hidden), hidden.real.dtype)
        sop_loss, loss = cross_entropy_forward(logits, batch.sop_labels, every, totals.sequences)
        sop = pooler, head, loss
    total = sum(loss for loss in (mlm_loss, sop_loss) if loss is not None)
    return Losses(mlm_loss, sop_loss, total), Cache(embeddings, encoder, mlm, sop, config)


def pretraining_backward(cache, grads, dtotal=1.0):
    """Adds into grads. Uses the cache up: the encoder frees each layer's part as it goes."""
    dhidden = 0.0
    if cache.sop is not None:
        pooler, head, loss = cache.sop
        dlogits, _, _ = cross_entropy_backward(dtotal, loss)
        dpooled = sop_backward(dlogits, head, grads)
        dhidden = pooler_backward(dpooled, pooler, grads)
    if cache.mlm is not None:
        head, loss = cache.mlm
        dlogits, _, _ = cross_entropy_backward(dtotal, loss)
        dhidden += mlm_backward(dlogits, head, cache.config, grads)
    dx = encoder_backward(dhidden, cache.encoder, grads)
    embeddings_backward(dx, cache.embeddings, grads)
