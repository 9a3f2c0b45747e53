import math


def dropout_mask(shape, rate, key):
    rng, mask = np.random.default_rng(np.random.SeedSequence(key)), np.zeros(shape, int)
    for place in np.ndindex(*shape):
        mask[place] = rng.random() >= rate
    return mask


def dropout_backward(dy, rate, key):
    if key is None:
        return dy
    dx = dropout_mask(dy.shape, rate, key) * dy
    dx /= 1 - rate
    return dx


def layer_backward(dy, x, weights, eps, rate, key):
    H, c = x.shape[-1], math.sqrt(2 / math.pi)
    factor = dropout_forward(np.ones_like(x), rate, key)
    h = x @ weights["w"] + weights["b"]
    t = np.tanh(c * (h + 0.044715 * h**3))
    total = x + factor * 0.5 * h * (1 + t)
    centred = total - total.sum(axis=-1, keepdims=True) / H
    r = 1 / np.sqrt((centred**2).sum(axis=-1, keepdims=True) / H + eps)
    g = dy * weights["gain"]
    dtotal = r * (g - g.mean(-1, keepdims=True) - centred * r * (g * centred * r).mean(-1, keepdims=True))
    dh = dtotal * factor * (0.5 * (1 + t) + 0.5 * h * (1 - t * t) * c * (1 + 3 * 0.044715 * h * h))
    dx = dtotal + np.einsum("bto,io->bti", dh, weights["w"])
    dw = np.einsum("bti,bto->io", x, dh)
    return dx, {"w": dw, "b": dh.sum((0, 1)), "gain": (dy * centred * r).sum((0, 1)), "bias": dy.sum((0, 1))}
