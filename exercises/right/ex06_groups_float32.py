double_forward, double_backward = encoder_forward, encoder_backward


def encoder_forward(x, weights, mask, heads, eps, layers):
    single = [{name: array.astype(np.float32) for name, array in group.items()} for group in weights]
    return double_forward(x.astype(np.float32), single, mask.astype(np.float32), heads, eps, layers)


def encoder_backward(dy, cache):
    return double_backward(dy.astype(np.float32), cache)
