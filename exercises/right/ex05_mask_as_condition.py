def attention_forward(q, k, v, mask):
    scores = np.where(mask < -1.0, -1e9, q @ np.moveaxis(k, -1, -2) / np.sqrt(k.shape[-1]))
    probs, cache = softmax_forward(scores)
    return probs @ v, (q, k, v, probs, cache)
