def cross_entropy_forward(logits, labels, weights):
    K = logits.shape[-1]
    rows, labels, weights = logits.reshape(-1, K), labels.reshape(-1), weights.reshape(-1)
    total, loss = sum(weights), 0.0
    for x, label, w in zip(rows, labels, weights, strict=True):
        m = max(x)
        loss += w * (m + np.log(sum(np.exp(x - m))) - x[label])
    return (loss / total if total else 0.0), {"logits": logits, "labels": labels, "weights": weights}


def cross_entropy_backward(dloss, cache):
    logits, total = cache["logits"], sum(cache["weights"])
    dlogits = np.zeros(logits.shape)
    rows = dlogits.reshape(-1, logits.shape[-1])
    for i, x in enumerate(logits.reshape(rows.shape)):
        p = np.exp(x - np.logaddexp.reduce(x))
        p[cache["labels"][i]] -= 1
        rows[i] = dloss * cache["weights"][i] / total * p if total else 0
    return dlogits, None, None


def decoder_forward(x, table, bias):
    logits = np.empty((*x.shape[:2], len(table)))
    for v in range(len(table)):
        logits[:, :, v] = (x * table[v]).sum(axis=-1) + bias[v]
    return logits, [table, x]


def decoder_backward(dlogits, cache):
    table, x = cache
    dx, dtable = np.zeros(x.shape), np.zeros(table.shape)
    for v in range(len(table)):
        dx += dlogits[:, :, v, None] * table[v]
        dtable[v] = (dlogits[:, :, v, None] * x).sum(axis=(0, 1))
    return [dx, dtable, dlogits.sum(axis=(0, 1))]


def gather_forward(x, positions):
    return np.stack([sequence[places] for sequence, places in zip(x, positions, strict=True)]), (positions, len(x[0]))


def gather_backward(dy, cache):
    positions, T = cache
    dx = np.zeros((len(dy), T, dy.shape[2]))
    for b in range(len(dy)):
        for p, place in enumerate(positions[b]):
            dx[b, place] += dy[b, p]
    return dx, None


def word_gradient(ids, dy, x, dlogits, vocab_size):
    rows = [dy[ids == v].sum(axis=0) + (dlogits[:, :, v, None] * x).sum(axis=(0, 1)) for v in range(vocab_size)]
    return np.array(rows)
