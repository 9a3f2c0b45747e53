"""What pretraining asks of the encoder: which words were masked, and which of two segments came first.

    MLM   hidden[:, 1:] (B, P, H) -> dense, GELU, norm (B, P, E) -> words (B, P, V) -> loss
    SOP   hidden[:, 0] (B, H) -> pooler: dense, tanh (B, H) -> orders (B, 2) -> loss

hidden (B, 1 + P, H) is the encoder's output at `positions_read`: that of [CLS], and at the P masked positions.

The MLM head goes down to E, so that its last matrix can be the word table itself.

Both losses read hidden, so backward adds to dhidden, as it adds to a parameter's gradient. `total` replaces what
a loss is divided by, where the batch is a slice of a larger one.
"""

from ..backend import array_module
from ..layers import (
    cross_entropy_backward,
    cross_entropy_forward,
    decoder_backward,
    decoder_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    tanh_backward,
    tanh_forward,
)
from ..params import LINEAR, NORM
from .block import activation
from .gradients import add_to


def positions_read(batch):
    xp, positions = array_module(batch.mlm_positions), batch.mlm_positions
    first = xp.zeros((len(positions), 1), positions.dtype)           # [CLS] stands at 0
    return xp.concatenate([first, positions], axis=1)


def mlm_loss_forward(hidden, batch, total, ctx):
    logits, head = mlm_forward(hidden[:, 1:], ctx)
    loss, cross_entropy = cross_entropy_forward(logits, batch.mlm_labels, batch.mlm_weights, total)
    return loss, (head, cross_entropy)


def mlm_loss_backward(dloss, cache, ctx, grads, dhidden):
    head, cross_entropy = cache

    dlogits, _, _ = cross_entropy_backward(dloss, cross_entropy)
    dhidden[:, 1:] += mlm_backward(dlogits, head, ctx, grads)       # forward: hidden[:, 1:]


def mlm_forward(x, ctx):
    params = ctx.params
    act_forward, _ = activation(ctx.config)
    x, dense = linear_forward(x, params["mlm.dense.w"], params["mlm.dense.b"])          # (B, P, E)
    x, gelu = act_forward(x)
    gain, bias = params["mlm.norm.gain"], params["mlm.norm.bias"]
    x, norm = layer_norm_forward(x, gain, bias, ctx.config.layer_norm_eps)
    logits, decoder = decoder_forward(x, params["embeddings.word"], params["mlm.bias"])  # (B, P, V)
    return logits, (dense, gelu, norm, decoder)


def mlm_backward(dlogits, cache, ctx, grads):
    dense, gelu, norm, decoder = cache
    _, act_backward = activation(ctx.config)

    dx, dtable, dbias = decoder_backward(dlogits, decoder)
    add_to(grads, "embeddings", ["word"], [dtable])                 # tied: the lookup adds its own part
    add_to(grads, "mlm", ["bias"], [dbias])
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "mlm", NORM, dnorm)
    (dx,) = act_backward(dx, gelu)
    dx, *ddense = linear_backward(dx, dense)
    add_to(grads, "mlm.dense", LINEAR, ddense)
    return dx


def sop_loss_forward(hidden, batch, total, ctx):
    pooled, pooler = pooler_forward(hidden[:, 0], ctx.params)
    logits, head = sop_forward(pooled, ctx.params)
    weights = array_module(hidden).ones(len(hidden), hidden.real.dtype)
    loss, cross_entropy = cross_entropy_forward(logits, batch.sop_labels, weights, total)
    return loss, (pooler, head, cross_entropy)


def sop_loss_backward(dloss, cache, ctx, grads, dhidden):
    pooler, head, cross_entropy = cache

    dlogits, _, _ = cross_entropy_backward(dloss, cross_entropy)
    dpooled = sop_backward(dlogits, head, grads)
    dhidden[:, 0] += pooler_backward(dpooled, pooler, grads)        # forward: hidden[:, 0]


def pooler_forward(first, params):
    x, dense = linear_forward(first, params["pooler.w"], params["pooler.b"])            # (B, H)
    pooled, tanh = tanh_forward(x)
    return pooled, (dense, tanh)


def pooler_backward(dpooled, cache, grads):
    dense, tanh = cache

    (dx,) = tanh_backward(dpooled, tanh)
    dfirst, *ddense = linear_backward(dx, dense)
    add_to(grads, "pooler", LINEAR, ddense)
    return dfirst


def sop_forward(pooled, params):
    logits, dense = linear_forward(pooled, params["sop.w"], params["sop.b"])            # (B, 2)
    return logits, dense


def sop_backward(dlogits, cache, grads):
    dpooled, *ddense = linear_backward(dlogits, cache)
    add_to(grads, "sop", LINEAR, ddense)
    return dpooled
