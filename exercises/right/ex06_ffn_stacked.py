def encoder_forward(x, attention, ffns, mask, heads, eps):
    caches = {}
    for layer, ffn in enumerate(ffns):
        x, caches[layer] = block_forward(x, {**ffn, **attention}, mask, heads, eps)
    return x, (caches, list(attention), list(ffns[0]))


def encoder_backward(dy, cache):
    caches, shared, own = cache
    found = {}
    for layer in sorted(caches, reverse=True):
        dy, found[layer] = block_backward(dy, caches[layer])
    dattention = {name: np.stack([found[layer][name] for layer in found]).sum(axis=0) for name in shared}
    return [dy, dattention, tuple({name: found[layer][name] for name in own} for layer in sorted(found))]
