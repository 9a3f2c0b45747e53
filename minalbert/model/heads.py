"""What pretraining asks of the encoder: which words were masked, and which of two segments came first.

    MLM   hidden (B, T, H) -> the P masked positions -> dense, GELU, norm (B, P, E) -> words (B, P, V)
    SOP   hidden (B, T, H) -> the first position -> pooler: dense, tanh (B, H) -> orders (B, 2)

The MLM head goes down to E, so that its last matrix can be the word table itself.
"""

from ..backend import array_module
from ..layers import (
    GELU,
    decoder_backward,
    decoder_forward,
    gather_backward,
    gather_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    tanh_backward,
    tanh_forward,
)
from ..params import LINEAR, NORM
from .gradients import add_to


def mlm_forward(hidden, positions, params, config):
    gelu_forward, _ = GELU[config.gelu_form]
    x, gather = gather_forward(hidden, positions)                                       # (B, P, H)
    x, dense = linear_forward(x, params["mlm.dense.w"], params["mlm.dense.b"])          # (B, P, E)
    x, gelu = gelu_forward(x)
    gain, bias = params["mlm.norm.gain"], params["mlm.norm.bias"]
    x, norm = layer_norm_forward(x, gain, bias, config.layer_norm_eps)
    logits, decoder = decoder_forward(x, params["embeddings.word"], params["mlm.bias"])  # (B, P, V)
    return logits, (gather, dense, gelu, norm, decoder)


def mlm_backward(dlogits, cache, config, grads):
    gather, dense, gelu, norm, decoder = cache
    _, gelu_backward = GELU[config.gelu_form]

    dx, dtable, dbias = decoder_backward(dlogits, decoder)
    add_to(grads, "embeddings", ["word"], [dtable])                 # tied: the lookup adds its own part
    add_to(grads, "mlm", ["bias"], [dbias])
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "mlm", NORM, dnorm)
    (dx,) = gelu_backward(dx, gelu)
    dx, *ddense = linear_backward(dx, dense)
    add_to(grads, "mlm.dense", LINEAR, ddense)
    dhidden, _ = gather_backward(dx, gather)
    return dhidden


def pooler_forward(hidden, params):
    x, dense = linear_forward(hidden[:, 0], params["pooler.w"], params["pooler.b"])     # (B, H)
    pooled, tanh = tanh_forward(x)
    return pooled, (dense, tanh, hidden.shape)


def pooler_backward(dpooled, cache, grads):
    dense, tanh, hidden_shape = cache

    (dx,) = tanh_backward(dpooled, tanh)
    dx, *ddense = linear_backward(dx, dense)
    add_to(grads, "pooler", LINEAR, ddense)
    dhidden = array_module(dx).zeros(hidden_shape, dx.dtype)
    dhidden[:, 0] = dx                                              # forward: hidden[:, 0]
    return dhidden


def sop_forward(pooled, params):
    logits, dense = linear_forward(pooled, params["sop.w"], params["sop.b"])            # (B, 2)
    return logits, dense


def sop_backward(dlogits, cache, grads):
    dpooled, *ddense = linear_backward(dlogits, cache)
    add_to(grads, "sop", LINEAR, ddense)
    return dpooled
