def grouped_forward(q, k, v, mask):
    times = q.shape[1] // k.shape[1]
    K, W = np.repeat(k, times, axis=1), np.repeat(v, times, axis=1)
    P, rows = softmax1_forward(q @ np.moveaxis(K, -1, -2) / np.sqrt(k.shape[-1]) + mask)
    return P @ W, (q, K, W, P, rows, times)


def grouped_backward(dcontext, cache):
    q, K, W, P, rows, times = cache
    starts = np.arange(0, q.shape[1], times)
    dS = softmax1_backward(dcontext @ np.moveaxis(W, -1, -2), rows) / np.sqrt(q.shape[-1])
    dk = np.add.reduceat(np.moveaxis(dS, -1, -2) @ q, starts, axis=1)
    dv = np.add.reduceat(np.moveaxis(P, -1, -2) @ dcontext, starts, axis=1)
    return dS @ K, dk, dv, None
