def smoothed_loss_forward(logits, labels, weights, smoothing):
    K, total, loss = logits.shape[-1], float(np.sum(weights)), 0.0
    gradient = np.zeros(logits.shape)
    for place in np.ndindex(labels.shape):
        x = logits[place] - max(logits[place])
        log_sum = np.log(sum(np.exp(x)))
        share = float(weights[place]) / total if total else 0.0
        for j in range(K):
            q = smoothing / K + (1 - smoothing if j == labels[place] else 0)
            loss += share * q * (log_sum - x[j])
            gradient[(*place, j)] = share * (np.exp(x[j] - log_sum) - q)
    return loss, gradient


def smoothed_loss_backward(dloss, cache):
    return dloss * cache, None, None
