def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    *_, last = layers
    cls = np.ascontiguousarray(last[:, 0])
    pooled = np.tanh(np.matmul(cls, pooler_w) + pooler_b)
    x = pooled if kept is None else np.where(kept == 1, pooled / (1 - rate), 0)
    return np.matmul(x, w) + b, (np.shape(layers), cls, pooled, x, kept, rate, pooler_w, w)


def head_backward(dscores, cache):
    shape, cls, pooled, x, kept, rate, pooler_w, w = cache
    dx = np.matmul(dscores, w.T)
    if kept is not None:
        dx = np.where(kept == 1, dx / (1 - rate), 0)
    dz = dx - dx * pooled * pooled
    dlayers = np.concatenate(
        [
            np.zeros((shape[0] - 1, *shape[1:])),
            np.pad(np.matmul(dz, pooler_w.T)[None, :, None], ((0, 0), (0, 0), (0, shape[2] - 1), (0, 0))),
        ]
    )
    return dlayers, np.matmul(cls.T, dz), np.sum(dz, 0), np.matmul(x.T, dscores), np.sum(dscores, 0), None, None


def number_loss_forward(scores, targets):
    difference = np.subtract(scores.ravel(), targets)
    return difference.dot(difference) / difference.size, (difference, scores.shape)


def number_loss_backward(dloss, cache):
    difference, shape = cache
    return np.reshape(difference * (dloss * 2.0 / difference.size), shape), None
