"""The loss as an inner product: its last digit depends on how the arrays lie in memory."""


def cross_entropy_forward(logits, labels, weights):
    lse = np.logaddexp.reduce(logits, axis=-1)
    n = weights.sum()
    hot = labels[..., None] == np.arange(logits.shape[-1])
    per = lse - np.where(hot, logits, 0).sum(-1)
    return (np.vdot(weights, per) / n if n else 0.0), (logits, lse, hot, weights, n)


def cross_entropy_backward(dloss, cache):
    logits, lse, hot, weights, n = cache
    if not n:
        return np.zeros_like(logits), None, None
    return dloss / n * weights[..., None] * (np.exp(logits - lse[..., None]) - hot), None, None
