def single(weights):
    return {name: array.astype(np.float32) for name, array in weights.items()}


double_forward, double_backward = encoder_forward, encoder_backward


def encoder_forward(x, attention, ffns, mask, heads, eps):
    ffns = [single(ffn) for ffn in ffns]
    return double_forward(x.astype(np.float32), single(attention), ffns, mask.astype(np.float32), heads, eps)


def encoder_backward(dy, cache):
    return double_backward(dy.astype(np.float32), cache)
