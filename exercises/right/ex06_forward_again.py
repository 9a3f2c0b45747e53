def encoder_forward(x, weights, mask, heads, eps, layers):
    states = [x]
    for _ in range(layers):
        states.append(block_forward(states[-1], weights, mask, heads, eps)[0])
    return states[-1], (states[:-1], weights, mask, heads, eps)


def encoder_backward(dy, cache):
    states, weights, *rest = cache
    total = {name: np.zeros_like(array) for name, array in weights.items()}
    for state in states[::-1]:
        dy, own = block_backward(dy, block_forward(state, weights, *rest)[1])
        for name in total:
            total[name] += own[name]
    return dy, total
