def rms_norm_forward(x, gain, eps):
    rows = x.reshape(-1, len(gain))
    roots = [(sum(v * v for v in row) / len(row) + eps) ** 0.5 for row in rows]
    y = np.array([[gain[h] * row[h] / root for h in range(len(row))] for row, root in zip(rows, roots)])
    return y.reshape(x.shape), (rows, roots, gain, x.shape)


def rms_norm_backward(dy, cache):
    rows, roots, gain, shape = cache
    dx, dgain = np.zeros(rows.shape), np.zeros(len(gain))
    for r, (x, root, d) in enumerate(zip(rows, roots, dy.reshape(rows.shape))):
        jacobian = np.eye(len(x)) / root - np.outer(x, x) / (len(x) * root**3)
        dx[r] = (d * gain) @ jacobian
        dgain += d * x / root
    return dx.reshape(shape), dgain
