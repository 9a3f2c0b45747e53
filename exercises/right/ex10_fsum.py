import math


def length(x):
    return math.sqrt(math.fsum((x * x).ravel()))
def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    b, c = betas
    m, v = b * m + (1 - b) * g, c * v + (1 - c) * g * g
    u = m / (v ** 0.5 + eps) + (weight_decay * w if w.ndim - 1 else 0)
    W, U = length(w), length(u)
    r = 1.0 if w.ndim == 1 or W == 0 or U == 0 else W / U
    return (w - rate * r * u, m, v, r)
def clip(gradients, limit):
    total = math.hypot(*(length(g) for g in gradients.values()))
    return dict(zip(gradients, (g * min(1, limit / total if total else 1) for g in gradients.values()))), total
