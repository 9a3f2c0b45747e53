def softmax1_forward(x):
    m = np.max(x, axis=-1)[..., None].clip(0)
    e = np.exp(x - m)
    y = e / (np.einsum("...k->...", e)[..., None] + np.exp(-m))
    return y, {"y": y}


def softmax1_backward(dy, cache):
    y = cache["y"]
    jacobian = np.einsum("...i,ij->...ij", y, np.eye(y.shape[-1])) - y[..., :, None] * y[..., None, :]
    return (np.einsum("...i,...ij->...j", dy, jacobian),)


def grouped_forward(q, k, v, mask):
    B, N, T, D = q.shape
    G = k.shape[1]
    q = q.reshape(B, G, -1, T, D)
    probs, cache = softmax1_forward(np.einsum("bgrid,bgjd->bgrij", q, k) * D**-0.5 + mask[:, :, None])
    return np.einsum("bgrij,bgjd->bgrid", probs, v).reshape(B, N, T, D), [q, k, v, probs, cache]


def grouped_backward(dcontext, cache):
    q, k, v, probs, cache = cache
    d = dcontext.reshape(q.shape)
    (dscores,) = softmax1_backward(np.einsum("bgrid,bgjd->bgrij", d, v), cache)
    dscores = dscores * q.shape[-1] ** -0.5
    dq = np.einsum("bgrij,bgjd->bgrid", dscores, k).reshape(dcontext.shape)
    return dq, np.einsum("bgrij,bgrid->bgjd", dscores, q), np.einsum("bgrij,bgrid->bgjd", probs, d), None
