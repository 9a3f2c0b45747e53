def dropout_mask(shape, rate, key):
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))
    return ~(generator.uniform(size=shape) < rate)


def dropout_forward(x, rate, key):
    return x.copy() if key is None else np.where(dropout_mask(x.shape, rate, key), x / (1 - rate), 0.0)


def dropout_backward(dy, rate, key):
    if key is None or rate == 0:
        return dy.copy()
    dx = np.zeros_like(dy)
    kept = dropout_mask(dy.shape, rate, key)
    dx[kept] = dy[kept] / (1 - rate)
    return dx
