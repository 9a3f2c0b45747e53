def smoothed_loss_forward(logits, labels, weights, smoothing):
    x, w = logits.astype(np.float32), weights.astype(np.float32)
    x = x - x.max(axis=-1)[..., None]
    log_p = x - np.log(np.exp(x).sum(axis=-1))[..., None]
    at_labels = np.take_along_axis(log_p, labels[..., None], axis=-1)[..., 0]
    mixed = (1 - smoothing) * at_labels + smoothing * log_p.mean(axis=-1)
    w = w / w.sum() if w.any() else w
    return -(w * mixed).sum(), (log_p, labels, w, smoothing)


def smoothed_loss_backward(dloss, cache):
    log_p, labels, w, smoothing = cache
    d = np.exp(log_p) - np.float32(smoothing / log_p.shape[-1])
    index = labels[..., None]
    np.put_along_axis(d, index, np.take_along_axis(d, index, axis=-1) - np.float32(1 - smoothing), axis=-1)
    return d * (dloss * w)[..., None], None, None
