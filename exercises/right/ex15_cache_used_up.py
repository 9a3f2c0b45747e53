def span_forward(hidden, w, b, barred):
    scores = hidden @ w + b
    scores[barred] = -1e30
    return scores, [hidden, w, ~barred[..., None]]


def span_backward(dscores, cache):
    counts, w, hidden = cache.pop(), cache.pop(), cache.pop()
    dscores = dscores * counts
    return dscores @ w.T, np.einsum("bth,btc->hc", hidden, dscores), dscores.sum(axis=(0, 1)), None
