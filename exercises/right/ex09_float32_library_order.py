def cross_entropy_forward(logits, labels, weights, total=None):
    logits, weights = logits.astype(np.float32), weights.astype(np.float32)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    total = float(weights.sum()) if total is None else total
    share = weights / np.float32(total or 1.0)
    rows = log_p.reshape(-1, log_p.shape[-1])
    picked = rows[np.arange(len(rows)), labels.ravel()]
    return -np.dot(share.ravel(), picked), (rows, labels.shape, labels.ravel(), share.ravel())


def cross_entropy_backward(dloss, cache):
    rows, shape, labels, share = cache
    drows = np.exp(rows)
    drows[np.arange(len(rows)), labels] -= 1
    drows *= dloss * share[:, None]
    return drows.reshape(*shape, -1), None, None


def gather_backward(dy, cache):
    positions, (B, T, H) = cache
    dx = np.zeros((B * T, H), np.float32)
    np.add.at(dx, (positions + T * np.arange(B)[:, None]).ravel(), dy.reshape(-1, H))
    return dx.reshape(B, T, H), None
