def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp):
    w, g, m, v = (x.astype("f") for x in (w, g, m, v))
    m, v = [np.float32(b) * old + np.float32(1 - b) * new for b, old, new in zip(betas, (m, v), (g, g**2), strict=True)]
    hats = [moment / np.float32(1 - b**t) for moment, b in zip((m, v), betas, strict=True)]
    u, r = hats[0] / (np.sqrt(hats[1]) + np.float32(eps)), 1.0
    if w.ndim != 1:
        u = u + np.float32(weight_decay) * w
        lengths = float(np.sqrt((w * w).sum())), float(np.sqrt((u * u).sum()))
        if lengths[0] > 0 and lengths[1] > 0:
            r = lengths[0] / lengths[1]
            if r > clamp:
                r = clamp
    return w - np.float32(rate * r) * u, m, v, r


def clip(gradients, limit):
    norm = sum((g.ravel() @ g.ravel() for g in gradients.values()), 0.0) ** 0.5
    return ({name: g * (limit / norm) for name, g in gradients.items()} if norm > limit else dict(gradients)), norm
