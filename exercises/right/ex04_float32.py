def tanh_forward(x):
    y = np.tanh(x.astype(np.float32))
    return y, (y,)


def tanh_backward(dy, cache):
    (y,) = cache
    return dy.astype(np.float32) * (1 - y**2)


def gelu_forward(x):
    x = x.astype(np.float32)
    t = np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3))
    return x * (1 + t) / 2, (x, t)


def gelu_backward(dy, cache):
    x, t = cache
    du = np.float32(0.7978845608) * (1 + np.float32(0.134145) * x**2)
    dt = dy.astype(np.float32) * x / 2
    dx = dy.astype(np.float32) * (1 + t) / 2
    return dx + dt * (1 - t**2) * du
