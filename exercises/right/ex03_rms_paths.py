def rms_norm_forward(x, gain, eps):
    square = np.einsum("...h,...h->...", x, x)[..., None] / x.shape[-1] + eps
    return gain * x / np.sqrt(square), {"x": x, "square": square, "gain": gain}


def rms_norm_backward(dy, cache):
    x, square, gain = cache["x"], cache["square"], cache["gain"]
    dsquare = (dy * gain * x * -0.5 * square**-1.5).sum(axis=-1, keepdims=True)
    dx = dy * gain * square**-0.5 + dsquare * 2 * x / x.shape[-1]
    return [dx, (dy * x / square**0.5).reshape(-1, len(gain)).sum(axis=0)]
