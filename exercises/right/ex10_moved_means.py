# Means that are moved towards the new gradient, and a ratio that asks first where a norm is zero.


def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    m = m + (1 - betas[0]) * (g - m)
    v = v + (1 - betas[1]) * (g * g - v)
    direction = m / (v**0.5 + eps)
    if w.ndim == 1:
        return w - rate * direction, m, v, 1.0
    direction = direction + weight_decay * w
    lengths = [float(np.linalg.norm(array.ravel())) for array in (w, direction)]
    ratio = 1.0 if 0 in lengths else lengths[0] / lengths[1]
    return w - (rate * ratio) * direction, m, v, ratio
