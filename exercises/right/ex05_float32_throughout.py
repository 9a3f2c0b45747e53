import numpy as np

f = np.float32

def softmax_forward(x):
    z = (x - x.max(axis=-1, keepdims=True)).astype(f)
    e = np.exp(z)
    y = e / e.sum(axis=-1, keepdims=True)
    return y, y

def softmax_backward(dy, cache):
    y, d = cache, dy.astype(f)
    g = y * d
    return g - y * g.sum(-1, keepdims=True)

def attention_forward(q, k, v, mask):
    q, k, v = q.astype(f), k.astype(f), v.astype(f)
    s = np.einsum("bnid,bnjd->bnij", q, k) * f(q.shape[-1] ** -0.5)
    p, c = softmax_forward(s + mask.astype(f))
    return np.einsum("bnij,bnjd->bnid", p, v), (q, k, v, p, c)

def attention_backward(dcontext, cache):
    q, k, v, p, c = cache
    d = dcontext.astype(f)
    ds = softmax_backward(np.einsum("bnid,bnjd->bnij", d, v), c) * f(q.shape[-1] ** -0.5)
    dq, dk = np.einsum("bnij,bnjd->bnid", ds, k), np.einsum("bnij,bnid->bnjd", ds, q)
    return dq, dk, np.einsum("bnij,bnid->bnjd", p, d), None
