def encoder_forward(x, weights, mask, heads, eps, layers):
    groups, caches = np.arange(layers) * len(weights) // layers, {}
    for layer in range(layers):
        x, caches[layer] = block_forward(x, weights[int(groups[layer])], mask, heads, eps)
    return x, (caches, groups, len(weights))


def encoder_backward(dy, cache):
    caches, groups, count = cache
    own = {}
    for layer in sorted(caches, reverse=True):
        dy, own[layer] = block_backward(dy, caches[layer])
    return dy, [
        {name: sum(own[layer][name] for layer in caches if groups[layer] == group) for name in own[0]}
        for group in range(count)
    ]
