import math


def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp):
    exempt = w.ndim < 2
    new_m = betas[0] * m + (1 - betas[0]) * g
    new_v = betas[1] * v + (1 - betas[1]) * g * g
    mh = new_m / -np.expm1(t * np.log(betas[0])) if betas[0] else new_m
    vh = new_v / (1 - betas[1] ** t)
    u = mh / (vh**0.5 + eps)
    if exempt:
        return w - rate * u, new_m, new_v, 1
    u = u + weight_decay * w
    a, b = float(np.sqrt((w * w).sum())), float(np.sqrt((u * u).sum()))
    r = np.minimum(a / b, clamp) if a and b else 1
    return w - rate * r * u, new_m, new_v, r


def clip(gradients, limit):
    flat = np.concatenate([g.ravel() for g in gradients.values()])
    norm = math.sqrt(flat @ flat)
    factor = min(1.0, limit / norm) if norm else 1.0
    return {k: factor * g for k, g in gradients.items()}, norm


def sqrt_rate(batch, reference_batch, reference_rate):
    return math.sqrt(batch) / math.sqrt(reference_batch) * reference_rate
