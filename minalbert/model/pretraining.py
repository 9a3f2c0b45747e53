"""The whole computation: a batch to two losses, and the losses back to every gradient.

    total = w_mlm MLM + w_sop SOP, each the mean over its targets; both weights are 1 unless given

The losses read the last layer at few positions, so it is computed for those alone. A model without one of the heads
trains on the other alone; the loss it lacks is None.
"""

from typing import Any, NamedTuple

from .encoder import encoder_backward, encoder_forward
from .heads import positions_read


class Losses(NamedTuple):
    """Single numbers on the model's device; on a GPU, `float(losses.total)` waits for it."""

    mlm: Any
    sop: Any
    total: Any

    def numbers(self):
        """By the names of metrics.jsonl, on the host; None where the model has no head for it."""
        mlm, sop, total = (None if loss is None else float(loss) for loss in self)
        return {"loss": total, "mlm_loss": mlm, "sop_loss": sop}


class Totals(NamedTuple):
    """What the two losses are divided by, where the batch is a slice of a larger one."""

    targets: float | None = None
    sequences: float | None = None


class Cache(NamedTuple):
    embeddings: Any
    encoder: Any
    hidden: Any                                      # (B, 1 + P, H)
    mlm: Any                                         # None without the head
    sop: Any
    weights: tuple                                   # of the two losses


def pretraining_forward(batch, ctx, totals=Totals(), recompute=False, weights=(1.0, 1.0)):
    pairs, params = ctx.pairs, ctx.params
    x, embeddings = pairs.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    hidden, encoder = encoder_forward(x, ctx, recompute, positions_read(batch))
    mlm_loss = sop_loss = mlm = sop = None
    if "mlm.bias" in params:
        mlm_loss, mlm = pairs.mlm_loss.forward(hidden, batch, totals.targets, ctx)
    if "sop.b" in params:
        sop_loss, sop = pairs.sop_loss.forward(hidden, batch, totals.sequences, ctx)
    losses = zip(weights, (mlm_loss, sop_loss), strict=True)
    total = sum(weight * loss for weight, loss in losses if loss is not None)
    return Losses(mlm_loss, sop_loss, total), Cache(embeddings, encoder, hidden, mlm, sop, weights)


def pretraining_backward(cache, ctx, grads, dtotal=1.0):
    """Adds into grads. Uses the cache up: the encoder frees each layer's share as it goes."""
    w_mlm, w_sop = cache.weights
    dhidden = ctx.zeros_like(cache.hidden)
    if cache.sop is not None:
        ctx.pairs.sop_loss.backward(w_sop * dtotal, cache.sop, ctx, grads, dhidden)
    if cache.mlm is not None:
        ctx.pairs.mlm_loss.backward(w_mlm * dtotal, cache.mlm, ctx, grads, dhidden)
    dx = encoder_backward(dhidden, cache.encoder, ctx, grads)
    ctx.pairs.embeddings.backward(dx, cache.embeddings, ctx, grads)
