def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp):
    (b1, b2), vector = betas, w.ndim == 1
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    root = (1 - b2**t) ** 0.5  # û = m root / (1 - β₁ᵗ) / (√v + ε root)
    u = m * (root / (1 - b1**t)) / (v**0.5 + eps * root)
    if not vector:
        u += weight_decay * w
    norms = np.linalg.norm(w), np.linalg.norm(u)
    r = 1.0 if vector or not all(norms) else np.minimum(norms[0] / norms[1], clamp)
    return w - rate * r * u, m, v, r
