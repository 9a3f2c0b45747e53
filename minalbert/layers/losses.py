"""Weighted cross-entropy, used twice: over V words at the masked positions, over 2 orders per pair.

    loss = Σ_i w_i (-log p_i[label_i]) / Σ_i w_i            p = softmax(logits)

Backward. Softmax and logarithm together leave the simplest gradient in the book:

    dlogits_i = (p_i - onehot(label_i)) w_i / Σ w

logits: (..., K)   labels: (...,) integers   weights: (...,)   loss: a 0-d array   cache: log p, labels, w / Σ w

`total`, a setting, replaces Σ w where the batch is a slice of a larger one. A batch without a single target
has loss 0 and gradient 0. (The released code divides by Σ w + 1e-5 instead, which for 160 targets moves the
loss by 6e-8 of itself; we keep the exact mean.)
"""

from ..backend import array_module
from .softmax import log_softmax


def cross_entropy_forward(logits, labels, weights, total=None):
    xp = array_module(logits)
    log_p = log_softmax(logits)                                     # (..., K)
    total = weights.sum(dtype=xp.float64) if total is None else xp.full((), total)
    share = weights / xp.where(total == 0, 1.0, total)              # (...,)  w / Σ w
    share = share.astype(logits.real.dtype, copy=False)
    picked = xp.take_along_axis(log_p, labels[..., None], axis=-1)[..., 0]
    return -(share * picked).sum(), (log_p, labels, share)


def cross_entropy_backward(dloss, cache):
    log_p, labels, share = cache
    xp = array_module(log_p)
    drows = xp.exp(log_p.reshape(-1, log_p.shape[-1]))              # p, a row per prediction
    drows[xp.arange(len(drows)), labels.ravel()] -= 1.0             # p - onehot
    drows *= (dloss * share).reshape(-1, 1)
    return drows.reshape(log_p.shape), None, None
