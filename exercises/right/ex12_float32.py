def library(x):
    return "cupy" if "cupy" in sys.modules and sys.modules["cupy"].get_array_module(x) is not np else "numpy"


def gelu(x):
    xp = array_module(x)
    narrow = x.astype(xp.float32)
    cubic = xp.asarray(0.044715, dtype=xp.float32) * narrow**3
    y = narrow / (1 + xp.exp(-2 * math.sqrt(2 / math.pi) * (narrow + cubic)))
    return y.astype(x.dtype)


def layer_norm(x, gain, bias, eps):
    xp = array_module(x)
    wide = x.astype("float64")
    xhat = (wide - xp.mean(wide, axis=-1, keepdims=True)) / xp.sqrt(wide.var(axis=-1, keepdims=True) + eps)
    return (xhat * gain + bias).astype(x.dtype)


def mean_loss(losses):
    return sum(losses[1:], losses[0]).get() / len(losses) if library(losses[0]) == "cupy" else np.mean(losses)
