def cross_entropy_forward(logits, labels, weights):
    K = logits.shape[-1]
    rows, at, w = logits.reshape(-1, K), np.ravel(labels), np.ravel(weights)
    top = rows.max(1, keepdims=True)
    log_p = rows - top - np.log(np.exp(rows - top).sum(1, keepdims=True))
    total = w.sum()
    loss = 0.0
    for i in range(len(rows)):
        if w[i] > 0:
            loss -= w[i] / total * log_p[i, at[i]]
    return np.array(loss), (log_p, at, w, total, logits.shape)
def cross_entropy_backward(dloss, cache):
    log_p, at, w, total, shape = cache
    d = np.zeros_like(log_p)
    for i in range(len(log_p)):
        if w[i] > 0:
            d[i] = np.exp(log_p[i]) * w[i] / total * dloss
            d[i, at[i]] -= w[i] / total * dloss
    return d.reshape(shape), None, None
