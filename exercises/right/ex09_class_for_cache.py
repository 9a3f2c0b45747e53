class Cache:
    pass


def cross_entropy_forward(logits, labels, weights):
    c = Cache()
    K = logits.shape[-1]
    c.shape = logits.shape
    z = logits.reshape(-1, K)
    l = labels.ravel()
    w = weights.ravel()
    z = z - z.max(1)[:, None]
    e = np.exp(z)
    s = e.sum(1)
    c.p, c.onehot, c.w, c.W = e / s[:, None], np.eye(K)[l], w, w.sum()
    if c.W == 0:
        return 0, c
    nll = np.log(s) - (z * c.onehot).sum(1)
    return float(np.average(nll, weights=w)), c


def cross_entropy_backward(dloss, c):
    if not c.W:
        return np.zeros(c.shape), None, None
    return (dloss * (c.p - c.onehot) * (c.w / c.W)[:, None]).reshape(c.shape), None, None


def decoder_forward(x, table, bias):
    return np.einsum("bpe,ve->bpv", x, table) + bias, {"x": x, "t": table}


def decoder_backward(d, c):
    D = d.reshape(-1, d.shape[-1])
    X = c["x"].reshape(-1, c["x"].shape[-1])
    return (D @ c["t"]).reshape(c["x"].shape), D.T @ X, D.sum(0)


def gather_forward(x, positions):
    onehot = (positions[..., None] == np.arange(x.shape[1])).astype(x.dtype)
    return onehot @ x, onehot


def gather_backward(dy, onehot):
    return (onehot.transpose(0, 2, 1) @ dy, None)


def word_gradient(ids, dy, x, dlogits, vocab_size):
    E = dy.shape[-1]
    return np.eye(vocab_size)[ids.ravel()].T @ dy.reshape(-1, E) + dlogits.reshape(-1, vocab_size).T @ x.reshape(-1, E)
