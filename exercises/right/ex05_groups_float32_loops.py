def grouped_forward(q, k, v, mask):
    q, k, v, mask = (np.asarray(x, np.float32) for x in (q, k, v, mask))
    B, N, T, D = q.shape
    G = k.shape[1]
    context, probs = np.zeros((B, N, T, D), np.float32), np.zeros((B, N, T, T), np.float32)
    for b in range(B):
        for n in range(N):
            g = n // (N // G)
            probs[b, n], _ = softmax1_forward(q[b, n] @ k[b, g].T / np.float32(D) ** 0.5 + mask[b, 0])
            context[b, n] = probs[b, n] @ v[b, g]
    return context, (q, k, v, probs)


def grouped_backward(dcontext, cache):
    q, k, v, probs = cache
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    N, D = q.shape[1], q.shape[3]
    for b, n in np.ndindex(q.shape[:2]):
        g = n // (N // k.shape[1])
        dS = softmax1_backward(dcontext[b, n] @ v[b, g].T, probs[b, n]) / D**0.5
        dq[b, n] = dS @ k[b, g]
        dk[b, g] += dS.T @ q[b, n]
        dv[b, g] += probs[b, n].T @ dcontext[b, n]
    return dq, dk, dv, None
