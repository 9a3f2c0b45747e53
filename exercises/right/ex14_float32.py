def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    layers, pooler_w, pooler_b, w, b = (a.astype(np.float32) for a in (layers, pooler_w, pooler_b, w, b))
    cls = layers[len(layers) - 1][:, 0, :]
    pooled = np.tanh(np.einsum("bi,ij->bj", cls, pooler_w) + pooler_b)
    scale = np.float32(1)
    if kept is not None:
        scale = np.where(kept > 0, np.float32(1 / (1 - rate)), np.float32(0))
    return np.dot(pooled * scale, w) + b, (layers, pooled, scale, pooler_w, w)


def head_backward(dscores, cache):
    layers, pooled, scale, pooler_w, w = cache
    dscores = dscores.astype(np.float32)
    dpooled = np.einsum("bk,hk->bh", dscores, w) * scale
    da = dpooled * (1 - pooled) * (1 + pooled)
    dlayers = np.zeros_like(layers)
    dlayers[len(layers) - 1][:, 0, :] = np.einsum("bj,ij->bi", da, pooler_w)
    dpooler_w = np.einsum("bi,bj->ij", layers[-1][:, 0], da)
    dw = np.einsum("bh,bk->hk", pooled * scale, dscores)
    return dlayers, dpooler_w, np.einsum("bj->j", da), dw, dscores.sum(0), None, None


def number_loss_forward(scores, targets):
    error = scores.astype(np.float32) - targets.astype(np.float32).reshape(-1, 1)
    return np.mean(np.square(error)), error


def number_loss_backward(dloss, error):
    return np.float32(dloss) * error * np.float32(2.0 / error.size), None
