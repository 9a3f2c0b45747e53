def span_forward(hidden, w, b, barred):
    hidden, w, b = (array.astype(np.float32) for array in (hidden, w, b))
    scores = np.einsum("bth,hk->btk", hidden, w) + b
    scores[barred] = -1e30
    return scores, (hidden, w, barred)


def span_backward(dscores, cache):
    hidden, w, barred = cache
    d = dscores.astype(np.float32)
    d[barred] = 0
    return np.tensordot(d, w, (2, 1)), np.tensordot(hidden, d, ((0, 1), (0, 1))), np.einsum("btk->k", d), None


def span_loss_forward(scores, spans):
    B, T, _ = scores.shape
    scores = scores.astype(np.float32)
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    onehot = (np.arange(T)[None, :, None] == spans[:, None, :]).astype(np.float32)
    counts = np.maximum(onehot.sum(axis=(0, 1)), 1)
    loss = -(np.where(onehot > 0, log_p, 0) / counts).sum() / 2
    return loss, (log_p, onehot, counts)


def span_loss_backward(dloss, cache):
    log_p, onehot, counts = cache
    return dloss / 2 * (np.exp(log_p) - onehot) * onehot.sum(axis=1, keepdims=True) / counts, None


def best_span(scores, longest):
    T = len(scores)
    fits = np.triu(np.ones((T, T), bool)) & np.tril(np.ones((T, T), bool), longest - 1)
    return tuple(np.argwhere(fits)[np.add.outer(scores[:, 0], scores[:, 1])[fits].argmax()])
