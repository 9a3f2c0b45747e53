def factor(shape, rate, key):
    return np.ones(shape) if key is None else dropout_mask(shape, rate, key) * (1 / (1 - rate))


def steps(x, weights, eps, rate, key):
    h, linear = linear_forward(x, weights["w"], weights["b"])
    a, gelu = gelu_forward(h)
    scale = factor(a.shape, rate, key)
    y, norm = layer_norm_forward(x + a * scale, weights["gain"], weights["bias"], eps)
    return y, linear, gelu, scale, norm


def layer_forward(x, weights, eps, rate, key):
    return steps(x, weights, eps, rate, key)[0]


def layer_backward(dy, x, weights, eps, rate, key):
    _, linear, gelu, scale, norm = steps(x, weights, eps, rate, key)
    dsum, dgain, dbias = layer_norm_backward(dy, norm)
    dx, dw, db = linear_backward(gelu_backward(dsum * scale, gelu)[0], linear)
    return dx + dsum, dict(bias=dbias, gain=dgain, b=db, w=dw)


def encoder_forward(x, weights, eps, layers, rate, key, done=0):
    if done == layers:
        return x, ()
    y = layer_forward(x, weights, eps, rate, key and (*key, done))
    end, states = encoder_forward(y, weights, eps, layers, rate, key, done + 1)
    return end, (x, *states)


def encoder_backward(dy, states, weights, eps, rate, key):
    *before, last = states
    dx, gradients = layer_backward(dy, last, weights, eps, rate, key and (*key, len(before)))
    if not before:
        return dx, gradients
    dx, others = encoder_backward(dx, before, weights, eps, rate, key)
    return dx, {name: gradients[name] + others[name] for name in weights}
