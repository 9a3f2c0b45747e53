import numpy as np

f = np.float32

def softmax1_forward(x):
    m = np.clip(x.max(-1, keepdims=True), 0, None)
    e = np.exp((x - m).astype(f))
    y = e / (np.exp(-m).astype(f) + e.sum(-1, keepdims=True))
    return y, y

def softmax1_backward(dy, cache):
    g = cache * dy.astype(f)
    return g - cache * g.sum(-1, keepdims=True)

def grouped_forward(q, k, v, mask):
    B, N, T, D = q.shape
    G = k.shape[1]
    h = q.reshape(B, G, N // G, T, D)
    p, c = softmax1_forward(np.einsum("bgrid,bgjd->bgrij", h, k) / D**0.5 + mask.reshape(B, 1, 1, 1, T))
    return np.einsum("bgrij,bgjd->bgrid", p, v).reshape(q.shape), (h, k, v, p, c)

def grouped_backward(dcontext, cache):
    h, k, v, p, c = cache
    d = dcontext.reshape(h.shape)
    ds = softmax1_backward(np.einsum("bgrid,bgjd->bgrij", d, v), c) / h.shape[-1] ** 0.5
    dq = np.einsum("bgrij,bgjd->bgrid", ds, k).reshape(dcontext.shape)
    return dq, np.einsum("bgrij,bgrid->bgjd", ds, h), np.einsum("bgrij,bgrid->bgjd", p, d), None
