def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    W, G, M, Vv = (np.array(a, dtype=np.float64).ravel() for a in (w, g, m, v))
    beta1, beta2 = betas
    for i in range(W.size):
        M[i] += (1 - beta1) * (G[i] - M[i])
        Vv[i] += (1 - beta2) * (G[i] * G[i] - Vv[i])
    matrix = w.ndim != 1
    U = np.array([M[i] / (Vv[i] ** 0.5 + eps) + (weight_decay * W[i] if matrix else 0.0) for i in range(W.size)])
    nw, nu = np.sqrt(W @ W), np.sqrt(U @ U)
    r = nw / nu if matrix and nw * nu != 0 else 1
    return (W - rate * r * U).reshape(w.shape), M.reshape(w.shape), Vv.reshape(w.shape), r


def clip(gradients, limit):
    total = 0.0
    for name in gradients:
        for x in gradients[name].flat:
            total += x * x
    norm = total**0.5
    out = {}
    for name, g in gradients.items():
        out[name] = g.copy() if norm <= limit else g * limit / norm
    return out, norm


def sqrt_rate(batch, reference_batch, reference_rate):
    return (batch / reference_batch) ** 0.5 * reference_rate
