def single(arrays):
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def dropout_forward(x, rate, key):
    if key is None:
        return x
    return x.astype(np.float32) * dropout_mask(x.shape, rate, key).astype(np.float32) / np.float32(1 - rate)


def layer_forward(x, weights, eps, rate, key):
    x, weights = x.astype(np.float32), single(weights)
    a, _ = gelu_forward(linear_forward(x, weights["w"], weights["b"])[0])
    return layer_norm_forward(x + dropout_forward(a, rate, key), weights["gain"], weights["bias"], eps)[0]
