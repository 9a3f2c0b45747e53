def encoder_forward(x, weights, mask, heads, eps, layers):
    G = len(weights)
    caches = [[] for _ in weights]
    for group in range(G):
        first, end = -(-group * layers // G), -(-(group + 1) * layers // G)
        for _ in range(first, end):
            x, cache = block_forward(x, weights[group], mask, heads, eps)
            caches[group].append(cache)
    return x, caches


def encoder_backward(dy, cache):
    found = []
    for caches in cache[::-1]:
        gradients = []
        for block_cache in caches[::-1]:
            dy, gradient = block_backward(dy, block_cache)
            gradients.append(gradient)
        found.append({name: sum(gradient[name] for gradient in gradients) for name in gradients[0]})
    return dy, tuple(found[::-1])
