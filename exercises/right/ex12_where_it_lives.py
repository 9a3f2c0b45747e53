def library(x):
    return "numpy" if getattr(x, "device", "cpu") == "cpu" else "cupy"


def gelu(x):
    xp = np if not hasattr(x.data, "ptr") else sys.modules["cupy"]
    return x * (1 + xp.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * xp.square(x)))) / 2


def to_host(x):
    cuda = 2
    return x.get() if x.__dlpack_device__()[0] == cuda else x
