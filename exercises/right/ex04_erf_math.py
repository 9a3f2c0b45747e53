import math


def Phi(x):
    return np.vectorize(math.erfc, otypes=[float])(-x / 2**0.5) / 2


def phi(x):
    return (np.vectorize(lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi), otypes=[float])(x),)


def gelu_erf_forward(x):
    p = Phi(x)
    return x * p, {"x": x, "p": p}


def gelu_erf_backward(dy, cache):
    x, p = cache["x"], cache["p"]
    return dy * p + dy * x * phi(x)[0]
