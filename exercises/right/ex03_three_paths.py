def layer_norm_forward(x, gain, bias, eps):
    H = x.shape[-1]
    mu = np.sum(x, axis=-1, keepdims=True) / H
    variance = np.sum((x - mu) ** 2, axis=-1, keepdims=True) / H
    return gain * (x - mu) / np.sqrt(variance + eps) + bias, (x, mu, variance + eps, gain)


def layer_norm_backward(dy, cache):
    x, mu, spread, gain = cache
    H = x.shape[-1]
    g = gain * dy
    dvariance = np.sum(g * (x - mu) * -0.5 * spread**-1.5, axis=-1, keepdims=True)
    dmu = np.sum(-g / np.sqrt(spread), axis=-1, keepdims=True)
    dx = g / np.sqrt(spread) + dvariance * 2 * (x - mu) / H + dmu / H
    return (
        dx,
        np.einsum("rh,rh->h", *((a.reshape(-1, H)) for a in (dy, (x - mu) / np.sqrt(spread)))),
        (np.add.reduce(dy.reshape(-1, H))),
    )
