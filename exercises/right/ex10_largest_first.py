def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    m, v = (b * old + (1.0 - b) * new for b, old, new in zip(betas, (m, v), (g, g * g)))
    u = m / (v**0.5 + eps)
    r = 1.0
    if w.ndim >= 2:
        u = u + weight_decay * w
        if np.any(w) and np.any(u):
            big_w, big_u = abs(w).max(), abs(u).max()
            r = big_w * np.sqrt(((w / big_w) ** 2).sum()) / (big_u * np.sqrt(((u / big_u) ** 2).sum()))
    return w - (rate * r) * u, m, v, np.float64(r)
