def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    shape, (b1, b2) = w.shape, betas
    w, g, m, v = (x.ravel().tolist() for x in (w, g, m, v))
    m = [b1 * a + (1 - b1) * b for a, b in zip(m, g, strict=True)]
    v = [b2 * a + (1 - b2) * b * b for a, b in zip(v, g, strict=True)]
    decay = weight_decay if len(shape) > 1 else 0.0
    u = [a / (b**0.5 + eps) + decay * c for a, b, c in zip(m, v, w, strict=True)]
    ratio, squares = 1.0, (sum(a * a for a in w), sum(a * a for a in u))
    if len(shape) > 1 and all(squares):
        ratio = (squares[0] / squares[1]) ** 0.5
    w = [a - rate * ratio * b for a, b in zip(w, u, strict=True)]
    return *(np.reshape(x, shape) for x in (w, m, v)), ratio
