def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp):
    (b1, b2), decay = betas, weight_decay if w.ndim > 1 else 0.0
    m = m * b1 + g * (1 - b1)
    v = v * b2 + g * g * (1 - b2)
    c1, c2 = 1.0 - np.power(b1, t), np.sqrt(1.0 - np.power(b2, t))
    u = (m / c1) / (np.sqrt(v) / c2 + eps) + decay * w
    r = 1.0
    if w.ndim > 1:
        W, U = np.linalg.norm(w.reshape(-1)), np.linalg.norm(u.reshape(-1))
        if W > 0 < U:
            r = np.clip(W / U, 0.0, clamp)
    return w - rate * r * u, m, v, r
