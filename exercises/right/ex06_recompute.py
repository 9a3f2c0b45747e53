def encoder_forward(x, weights, mask, heads, eps, layers):
    states = [x]
    while len(states) <= layers:
        states.append(block_forward(states[-1], weights, mask, heads, eps)[0])
    return states.pop(), {"states": states, "given": (weights, mask, heads, eps)}


def encoder_backward(dy, cache):
    found = []
    for state in cache["states"][::-1]:
        _, block_cache = block_forward(state, *cache["given"])
        dy, gradients = block_backward(dy, block_cache)
        found.append(gradients)
    return dy, {name: np.sum([gradients[name] for gradients in found], axis=0) for name in found[0]}
