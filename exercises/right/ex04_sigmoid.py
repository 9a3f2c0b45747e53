def tanh_forward(x):
    y = np.sign(x) * -np.expm1(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x)))
    return y, {"x": x}


def tanh_backward(dy, cache):
    return (dy / np.cosh(np.clip(cache["x"], -300, 300)) ** 2,)


def gelu_forward(x):
    u = (2 / np.pi) ** 0.5 * x * (1 + 0.044715 * np.square(x))
    s = 0.5 + 0.5 * tanh_forward(u)[0]               # ½ (1 + tanh u) is the logistic function of 2u
    return x * s, [x, s]


def gelu_backward(dy, cache):
    x, s = cache
    du = (2 / np.pi) ** 0.5 + (18 / np.pi) ** 0.5 * 0.044715 * x * x
    return dy * s * (1 + 2 * x * (1 - s) * du)
