def attention_forward(q, k, v, mask):
    q, k, v, mask = (np.asarray(x, np.float32) for x in (q, k, v, mask))
    B, N, T, D = q.shape
    context, probs = np.zeros((B, N, T, D), np.float32), np.zeros((B, N, T, T), np.float32)
    for b in range(B):
        for n in range(N):
            for i in range(T):
                scores = np.array([q[b, n, i] @ k[b, n, j] for j in range(T)]) / np.float32(D) ** 0.5 + mask[b, 0, 0]
                probs[b, n, i] = softmax_forward(scores)[0]
                context[b, n, i] = sum(probs[b, n, i, j] * v[b, n, j] for j in range(T))
    return context, (q, k, v, probs, probs)
