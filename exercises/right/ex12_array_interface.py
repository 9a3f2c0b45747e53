def library(x):
    return "cupy" if hasattr(x, "__cuda_array_interface__") else "numpy"


def gelu(x):
    xp = array_module(x)
    inner = (2 / math.pi) ** 0.5 * (x + 0.044715 * xp.power(x, 3))
    return (x / 2 * (1 + xp.tanh(inner))).astype(x.dtype)


def layer_norm(x, gain, bias, eps):
    H = x.shape[-1]
    mean = x.sum(axis=-1, keepdims=True) / H
    var = ((x - mean) ** 2).sum(axis=-1, keepdims=True) / H
    rstd = 1 / array_module(x).sqrt(var + eps)
    return (x - mean) * rstd * gain + bias


def scatter_add(shape, rows, updates):
    xp = array_module(updates)
    table = xp.zeros(shape, dtype=updates.dtype)
    for r in range(updates.shape[0]):
        table[rows[r]] += updates[r]
    return table


def to_host(x):
    if hasattr(x, "__cuda_array_interface__"):
        return x.get()
    return np.array(x)


def mean_loss(losses):
    values = to_host(array_module(losses[0]).stack(losses))
    return sum(values.tolist()) / len(values)
