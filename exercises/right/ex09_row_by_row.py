import math


def cross_entropy_forward(logits, labels, weights):
    total = float(np.sum(weights))
    loss = 0.0
    for i in np.ndindex(labels.shape):
        if weights[i] == 0:
            continue
        row = logits[i]
        top = row.max()
        loss += weights[i] * (top + math.log(np.exp(row - top).sum()) - row[labels[i]])
    return (loss / total if total else 0.0), (logits, labels, weights)


def cross_entropy_backward(dloss, cache):
    logits, labels, weights = cache
    total = float(np.sum(weights))
    g = np.zeros(logits.shape)
    for i in np.ndindex(labels.shape):
        if not weights[i]:
            continue
        p = np.exp(logits[i] - logits[i].max())
        p /= p.sum()
        p[labels[i]] -= 1
        g[i] = p * weights[i] * dloss / total
    return [g, None, None]


def decoder_forward(x, table, bias):
    return np.stack([xi.dot(table.T) + bias for xi in x]), (x, table)


def decoder_backward(d, cache):
    x, table = cache
    dt = sum(d[b].T @ x[b] for b in range(len(x)))
    return np.array([di @ table for di in d]), dt, np.ones(d.shape[0] * d.shape[1]) @ d.reshape(-1, d.shape[2])


def gather_forward(x, positions):
    y = np.empty((*positions.shape, x.shape[-1]))
    for b in range(x.shape[0]):
        for p in range(positions.shape[1]):
            y[b, p] = x[b, positions[b, p]]
    return y, (x, positions)


def gather_backward(dy, cache):
    x, pos = cache
    dx = np.zeros_like(x)
    for b in range(dy.shape[0]):
        for p in range(dy.shape[1]):
            dx[b, pos[b, p]] += dy[b, p]
    return dx, None


def word_gradient(ids, dy, x, dlogits, vocab_size):
    lookup = np.zeros((vocab_size, dy.shape[2]))
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            lookup[ids[b, t]] += dy[b, t]
    _, dtable, _ = decoder_backward(dlogits, (x, np.zeros((vocab_size, x.shape[2]))))
    return lookup + dtable
