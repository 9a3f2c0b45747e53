def rms_norm_forward(x, gain, eps):
    x, gain = x.astype(np.float32), gain.astype(np.float32)
    rms = np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(eps))
    return x / rms * gain, [x, rms, gain]


def rms_norm_backward(dy, cache):
    x, rms, gain = cache
    xhat, g = x / rms, dy.astype(np.float32) * gain
    dgain = np.apply_over_axes(np.sum, dy * xhat, range(dy.ndim - 1)).ravel()
    return (g - xhat * np.mean(g * xhat, -1, keepdims=True)) / rms, dgain
