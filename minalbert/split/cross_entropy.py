"""Weighted cross-entropy over a vocabulary that is split: rank k has the logits of the words `first` to `first` + V/R.

    log Z_k = log Σ_j exp(logits_j), over the words of rank k        log Z = log Σ_k exp(log Z_k)
    loss    = Σ_i share_i (log Z_i - logits_i[label_i])              share = weights / Σ weights

Two numbers a target are exchanged, log Z_k and the label's logit, which is 0 on ranks that do not have the label. No
rank ever has all logits. Backward needs no exchange, because p = exp(logits - log Z) is known where the logits are:

    dlogits_i = (p_i - onehot(label_i)) share_i

logits: (B, P, V/R)   labels, weights: (B, P)   loss: a 0-d array
cache: logits, log Z, the labels counted from `first`, which of them are this rank's, share
"""

from ..backend import array_module


def split_cross_entropy_forward(logits, labels, weights, first, exchange, total=None):
    xp = array_module(logits)
    local = labels - first
    own = (local >= 0) & (local < logits.shape[-1])
    local = xp.where(own, local, 0)
    picked = xp.where(own, xp.take_along_axis(logits, local[..., None], axis=-1)[..., 0], 0.0)

    known = exchange.gather(xp.stack([log_sum_exp(logits, axis=-1), picked]))       # (R, 2, B, P)
    log_z, picked = log_sum_exp(known[:, 0], axis=0), known[:, 1].sum(axis=0)
    total = weights.sum(dtype=xp.float64) if total is None else xp.full((), total)
    share = weights / xp.where(total == 0, 1.0, total)                              # (B, P)  w / Σ w
    share = share.astype(logits.dtype, copy=False)
    return (share * (log_z - picked)).sum(), (logits, log_z, local, own, share)


def split_cross_entropy_backward(dloss, cache):
    logits, log_z, local, own, share = cache
    xp = array_module(logits)
    drows = xp.exp(logits - log_z[..., None]).reshape(-1, logits.shape[-1])         # p, a row per prediction
    drows[xp.arange(len(drows)), local.ravel()] -= own.ravel()                      # p - onehot
    drows *= (dloss * share).reshape(-1, 1)
    return drows.reshape(logits.shape)


def log_sum_exp(x, axis):
    xp = array_module(x)
    top = x.max(axis=axis, keepdims=True)
    return top.squeeze(axis) + xp.log(xp.exp(x - top).sum(axis=axis))
