def softmax_forward(x):
    e = np.exp(x - np.max(x, axis=-1)[..., None])
    return e / np.einsum("...k->...", e)[..., None], {"y": e / e.sum(-1)[..., None]}


def softmax_backward(dy, cache):
    y = cache["y"]
    jacobian = np.einsum("...i,ij->...ij", y, np.eye(y.shape[-1])) - y[..., :, None] * y[..., None, :]
    return (np.einsum("...i,...ij->...j", dy, jacobian),)


def attention_forward(q, k, v, mask):
    probs, cache = softmax_forward(np.einsum("bnid,bnjd->bnij", q, k) * q.shape[-1] ** -0.5 + mask)
    return np.einsum("bnij,bnjd->bnid", probs, v), [q, k, v, probs, cache]


def attention_backward(dcontext, cache):
    q, k, v, probs, cache = cache
    (dscores,) = softmax_backward(np.einsum("bnid,bnjd->bnij", dcontext, v), cache)
    dscores = dscores * q.shape[-1] ** -0.5
    dq, dk = np.einsum("bnij,bnjd->bnid", dscores, k), np.einsum("bnij,bnid->bnjd", dscores, q)
    return dq, dk, np.einsum("bnij,bnid->bnjd", probs, dcontext), None
