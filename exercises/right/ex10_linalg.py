def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * np.square(g)
    vector = len(w.shape) == 1
    u = m / (v**0.5 + eps) + (0.0 if vector else weight_decay) * w
    norms = np.linalg.norm(w), np.linalg.norm(u)
    r = 1 if vector or min(norms) == 0 else norms[0] / norms[1]
    return [w - (rate * r) * u, m, v, np.array([r])]


def clip(gradients, limit):
    norm = np.linalg.norm(np.concatenate([g.ravel() for g in gradients.values()]))
    if norm <= limit:
        return gradients, float(norm)
    return {name: g / norm * limit for name, g in gradients.items()}, float(norm)


def sqrt_rate(batch, reference_batch, reference_rate):
    return (reference_rate * batch**0.5 / reference_batch**0.5,)
