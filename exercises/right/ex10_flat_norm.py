import math


def _norm(x):
    return math.sqrt(float(np.sum(np.square(x))))


def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    exempt = len(w.shape) == 1
    new_m = betas[0] * m + (1 - betas[0]) * g
    new_v = betas[1] * v + (1 - betas[1]) * np.square(g)
    u = new_m / (new_v**0.5 + eps) + (0 if exempt else weight_decay) * w
    a, b = _norm(w), _norm(u)
    r = 1.0 if exempt or a == 0 or b == 0 else a / b
    return w - rate * r * u, new_m, new_v, r


def clip(gradients, limit):
    flat = np.concatenate([g.ravel() for g in gradients.values()])
    norm = math.sqrt(flat @ flat)
    factor = min(1.0, limit / norm) if norm else 1.0
    return {k: factor * g for k, g in gradients.items()}, norm


def sqrt_rate(batch, reference_batch, reference_rate):
    return math.sqrt(batch) / math.sqrt(reference_batch) * reference_rate
