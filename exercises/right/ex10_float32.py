def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    w, g, m, v = (np.asarray(x, np.float32) for x in (w, g, m, v))
    m = m + np.float32(1 - betas[0]) * (g - m)
    v = v + np.float32(1 - betas[1]) * (g * g - v)
    u = m / (np.sqrt(v) + np.float32(eps))
    r = 1.0
    if w.ndim > 1:
        u = u + np.float32(weight_decay) * w
        w_norm, u_norm = np.sqrt(np.vdot(w, w)), np.sqrt(np.vdot(u, u))
        if w_norm and u_norm:
            r = w_norm / u_norm
    return w - np.float32(rate * r) * u, m, v, r


def clip(gradients, limit):
    total = np.float32(0)
    for g in gradients.values():
        total += np.square(g.astype(np.float32)).sum()
    factor = min(1.0, limit / (np.sqrt(total) or 1.0))
    return {name: np.float32(factor) * g.astype(np.float32) for name, g in gradients.items()}, total**0.5
