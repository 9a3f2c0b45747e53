def span_loss_forward(scores, spans):
    B, T, _ = scores.shape
    there = (spans >= 0) & (spans < T)
    probs = np.exp(scores - scores.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    weights = there / (2.0 * np.maximum(there.sum(axis=0), 1))
    loss = 0.0
    for b in range(B):
        for side in range(2):
            if there[b, side]:
                largest = scores[b, :, side].max()
                total = np.log(np.exp(scores[b, :, side] - largest).sum()) + largest
                loss += weights[b, side] * (total - scores[b, spans[b, side], side])
                probs[b, spans[b, side], side] -= 1
    probs *= weights[:, None, :]
    return float(loss), probs


def span_loss_backward(dloss, cache):
    cache *= dloss
    return cache.copy(), None
