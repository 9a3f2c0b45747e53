def encoder_forward(x, weights, mask, heads, eps, layers):
    if layers == 0:
        return x, None
    x, first = block_forward(x, weights, mask, heads, eps)
    y, others = encoder_forward(x, weights, mask, heads, eps, layers - 1)
    return y, (first, others)


def encoder_backward(dy, cache):
    first, others = cache
    if others is None:
        return block_backward(dy, first)
    dx, later = encoder_backward(dy, others)
    dx, own = block_backward(dx, first)
    return [dx, {name: later[name] + own[name] for name in reversed(own)}]
