def central_difference(f, x, h):
    x, gradient = x.copy(), np.empty(x.shape)
    for i, old in np.ndenumerate(x):
        x[i] = old + h
        gradient[i] = f(x)
        x[i] = old - h
        gradient[i] -= f(x)
        x[i] = old
    gradient /= 2 * h
    return gradient


def relative_error(yours, expected):
    d, s = np.max(np.abs(yours - expected)), np.max(np.abs(expected))
    with np.errstate(all="ignore"):
        return np.array(np.where(s == 0, d, d / s))


def find_wrong(f, gradients, x):
    wrong = [name for name, g in gradients.items() if g.shape != x.shape or np.isnan(g).any()]
    return wrong + [
        name for name, g in gradients.items() if name not in wrong and relative_error(g, complex_step(f, x)) > 1e-10
    ]
