def Phi(x):
    return np.float32(0.5) + erf(x.astype(np.float32) * np.float32(0.5**0.5)) / 2


def gelu_erf_forward(x):
    return Phi(x) * x.astype(np.float32), [x]


def gelu_erf_backward(dy, cache):
    (x,) = cache
    return (dy.astype(np.float32) * (x * phi(x) + Phi(x)).astype(np.float32),)
