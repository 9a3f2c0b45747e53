double_forward, double_backward = block_forward, block_backward


def block_forward(x, weights, mask, heads, eps):
    single = {name: np.asarray(array, np.float32) for name, array in weights.items()}
    return double_forward(np.asarray(x, np.float32), single, mask.astype(np.float32), heads, eps)


def block_backward(dy, cache):
    dx, dweights = double_backward(np.asarray(dy, np.float32), cache)
    return dx, {name: gradient.astype(np.float32) for name, gradient in dweights.items()}
