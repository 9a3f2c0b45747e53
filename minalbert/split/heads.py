"""The MLM loss of `model/heads.py` for a rank that has some rows of the word table.

    hidden[:, 1:] (B, P, H) -> dense, GELU, norm (B, P, E) -> its words (B, P, V/R) -> loss

Every rank computes the same (B, P, E), and with it the logits of its own words. Going backward these reach x through
every rank's words: one exchange, E wide.
"""

from ..layers import decoder_backward, layer_norm_backward, linear_backward
from ..model.block import activation
from ..model.gradients import add_to
from ..model.heads import mlm_forward
from ..params import LINEAR, NORM
from .cross_entropy import split_cross_entropy_backward, split_cross_entropy_forward


def mlm_loss_forward(hidden, batch, total, ctx, exchange):
    logits, head = mlm_forward(hidden[:, 1:], ctx)
    first = exchange.share(ctx.config.vocab_size).start
    loss, cross_entropy = split_cross_entropy_forward(
        logits, batch.mlm_labels, batch.mlm_weights, first, exchange, total
    )
    return loss, (head, cross_entropy)


def mlm_loss_backward(dloss, cache, ctx, grads, dhidden, exchange):
    head, cross_entropy = cache

    dlogits = split_cross_entropy_backward(dloss, cross_entropy)
    dhidden[:, 1:] += mlm_backward(dlogits, head, ctx, grads, exchange)             # forward: hidden[:, 1:]


def mlm_backward(dlogits, cache, ctx, grads, exchange):
    dense, gelu, norm, decoder = cache
    _, act_backward = activation(ctx.config)

    dx, dtable, dbias = decoder_backward(dlogits, decoder)
    dx = exchange.add(dx)                                           # forward: every rank read x
    add_to(grads, "embeddings", ["word"], [dtable])                 # tied: the lookup adds its own part
    add_to(grads, "mlm", ["bias"], [dbias])
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "mlm", NORM, dnorm)
    (dx,) = act_backward(dx, gelu)
    dx, *ddense = linear_backward(dx, dense)
    add_to(grads, "mlm.dense", LINEAR, ddense)
    return dx
