import math


def label_numbers(labels, names):
    place = {name: k for k, name in enumerate(names)}
    return [place.get(label, -1) for label in labels]


def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    L, B, T, H = layers.shape
    K = len(b)
    pooled, scores = np.zeros((B, H)), np.zeros((B, K))
    factor = np.ones((B, H))
    for n in range(B):
        for j in range(H):
            a = pooler_b[j] + sum(layers[L - 1, n, 0, i] * pooler_w[i, j] for i in range(H))
            pooled[n, j] = math.tanh(a)
            if kept is not None:
                factor[n, j] = 1 / (1 - rate) if kept[n, j] else 0
        for k in range(K):
            scores[n, k] = b[k] + sum(pooled[n, j] * factor[n, j] * w[j, k] for j in range(H))
    return scores, {"layers": layers, "pooled": pooled, "factor": factor, "weights": (pooler_w, w)}


def head_backward(dscores, cache):
    layers, pooled, factor, (pooler_w, w) = cache["layers"], cache["pooled"], cache["factor"], cache["weights"]
    dlayers, dpooler_w, dpooler_b = np.zeros(layers.shape), np.zeros(pooler_w.shape), np.zeros(len(pooler_w))
    dw, db = np.zeros(w.shape), np.zeros(w.shape[1])
    for n, row in enumerate(dscores):
        db += row
        dw += np.outer(pooled[n] * factor[n], row)
        dpooled = (w * row).sum(axis=1) * factor[n]
        before = dpooled - dpooled * pooled[n] ** 2
        dpooler_b += before
        dpooler_w += np.outer(layers[-1][n][0], before)
        dlayers[-1][n][0] = pooler_w @ before
    return [dlayers, dpooler_w, dpooler_b, dw, db, None, None]


def label_loss_forward(scores, labels):
    loss, count, dscores = 0.0, 0, np.zeros(scores.shape)
    for i in np.ndindex(labels.shape):
        if labels[i] < 0:
            continue
        e = np.exp(scores[i] - max(scores[i]))
        loss += math.log(e.sum()) - (scores[i][labels[i]] - max(scores[i]))
        dscores[i] = e / e.sum()
        dscores[i][labels[i]] -= 1
        count += 1
    return (loss / count, dscores / count) if count else (0.0, dscores)


def label_loss_backward(dloss, cache):
    return dloss * cache, None


def number_loss_forward(scores, targets):
    return sum((s - t) ** 2 for (s,), t in zip(scores, targets, strict=True)) / len(targets), (scores, targets)


def number_loss_backward(dloss, cache):
    scores, targets = cache
    return np.array([[dloss * 2 * (s - t) / len(targets)] for (s,), t in zip(scores, targets, strict=True)]), None


def choice_loss_forward(scores, labels):
    C = len(scores) // len(labels)
    rows = np.array([[scores[q * C + c][0] for c in range(C)] for q in range(len(labels))])
    return label_loss_forward(rows, labels)


def choice_loss_backward(dloss, cache):
    return np.array([[x] for row in label_loss_backward(dloss, cache)[0] for x in row]), None
