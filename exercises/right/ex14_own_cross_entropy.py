def label_numbers(labels, names):
    numbers = np.full(len(labels), -1)
    for k, name in enumerate(names):
        for i, label in enumerate(labels):
            if label is not None and label == name:
                numbers[i] = k
    return numbers


def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    state = layers[-1].take(0, axis=1)
    pooled = 2 / (1 + np.exp(-2 * (state @ pooler_w + pooler_b))) - 1
    left = pooled if kept is None else np.where(kept, pooled, 0) / (1 - rate)

    def back(dscores):
        dleft = dscores @ w.T
        dpooled = dleft if kept is None else np.where(kept, dleft, 0) / (1 - rate)
        dz = dpooled * (1 - pooled * pooled)
        chosen = np.zeros(layers.shape[0]), np.zeros(layers.shape[2])
        chosen[0][-1], chosen[1][0] = 1, 1
        dlayers = np.einsum("l,t,bh->lbth", *chosen, dz @ pooler_w.T)
        return dlayers, state.T @ dz, dz.sum(0), left.T @ dscores, dscores.sum(0), None, None

    return left @ w + b, back


def head_backward(dscores, cache):
    return cache(dscores)


def label_loss_forward(scores, labels):
    K = scores.shape[-1]
    flat, there = scores.reshape(-1, K), labels.ravel() >= 0
    rows, right = flat[there], labels.ravel()[there]
    top = rows.max(axis=1, keepdims=True) if len(rows) else rows
    log_p = rows - top - np.log(np.exp(rows - top).sum(axis=1, keepdims=True))
    loss = -log_p[np.arange(len(rows)), right].mean() if len(rows) else 0.0
    return loss, (scores.shape, there, log_p, right)


def label_loss_backward(dloss, cache):
    shape, there, log_p, right = cache
    d = np.zeros((len(there), shape[-1]))
    if len(right):
        d[there] = dloss * (np.exp(log_p) - (right[:, None] == np.arange(shape[-1]))) / len(right)
    return d.reshape(shape), None


def number_loss_forward(scores, targets):
    difference = scores.ravel() - targets
    return np.array([difference @ difference / difference.size]), difference


def number_loss_backward(dloss, difference):
    return dloss * difference.reshape(-1, 1) / (difference.size / 2), None


def choice_loss_forward(scores, labels):
    B = labels.size
    return label_loss_forward(scores.reshape(B, scores.size // B), labels)


def choice_loss_backward(dloss, cache):
    dscores, nothing = label_loss_backward(dloss, cache)
    return dscores.ravel()[:, None], nothing
