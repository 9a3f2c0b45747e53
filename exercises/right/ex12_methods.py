def layer_norm(x, gain, bias, eps):
    d = x - x.sum(-1, keepdims=True) / x.shape[-1]
    s = (d ** 2).sum(-1, keepdims=True) / x.shape[-1] + eps
    return d * s ** -0.5 * gain + bias
def to_host(x):
    if library(x) == "numpy":
        return np.asarray(x)
    return x.get()
def mean_loss(losses):
    xp = array_module(losses[0])
    return xp.asarray(sum(losses)).item() / len(losses)
