def library(x):
    return type(x).__module__.split(".")[0]


def gelu(x):
    xp = array_module(x)
    u = xp.power(x, 3)
    u *= 0.044715
    u += x
    u *= (2 / math.pi) ** 0.5
    y = xp.tanh(u, out=u)
    y += 1
    return xp.multiply(x, y) / 2


def layer_norm(x, gain, bias, eps):
    xp = array_module(x)
    mean = xp.einsum("...h->...", x)[..., None] / x.shape[-1]
    return (x - mean) * (xp.var(x, axis=-1, keepdims=True) + eps) ** -0.5 * gain + bias


def scatter_add(shape, rows, updates):
    xp = array_module(updates)
    onehot = rows[None, :] == xp.arange(shape[0])[:, None]
    return onehot.astype(updates.dtype) @ updates


def mean_loss(losses):
    xp = array_module(losses[0])
    return to_host(xp.stack(losses).mean()).item()
