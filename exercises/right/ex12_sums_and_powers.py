"""Sums divided by H, and powers; a mean by the library's own method."""


def gelu(x):
    xp = array_module(x)
    return x * (xp.tanh(x * (1 + 0.044715 * x**2) * (2 / math.pi) ** 0.5) + 1) / 2


def layer_norm(x, gain, bias, eps):
    xp = array_module(x)
    H = x.shape[-1]
    mean = x.sum(-1, keepdims=True) / H
    var = ((x - mean) ** 2).sum(-1, keepdims=True) / H
    return (x - mean) * (gain / xp.sqrt(var + eps)) + bias


def mean_loss(losses):
    xp = array_module(losses[0])
    return float(xp.stack(losses).mean())
