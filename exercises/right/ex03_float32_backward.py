def layer_norm_backward(dy, cache):
    xhat, rstd, gain = (part.astype(np.float32) for part in cache)
    dy = dy.astype(np.float32)
    g, H = dy * gain, len(gain)
    dx = rstd / H * (H * g - g.sum(-1, keepdims=True) - xhat * np.vecdot(g, xhat)[..., None])
    every = tuple(range(dy.ndim - 1))
    return dx, np.sum(dy * xhat, axis=every), np.sum(dy, axis=every)
