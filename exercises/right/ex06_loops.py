def norm_forward(x, gain, bias, eps):
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    hat = (x - x.mean(axis=-1, keepdims=True)) / spread
    return gain * hat + bias, (hat, spread, gain)


def norm_backward(dy, cache):
    hat, spread, gain = cache
    g = dy * gain
    dx = (g - g.mean(-1, keepdims=True) - hat * (g * hat).mean(-1, keepdims=True)) / spread
    return dx, np.einsum("bth,bth->h", dy, hat), dy.sum((0, 1))


def block_forward(x, weights, mask, heads, eps):
    """One sequence after the other, and the norms by hand."""
    pairs = []
    for b in range(len(x)):
        one = x[b : b + 1]
        a, ca = multi_head_forward(one, *[weights[name] for name in PROJECTIONS], mask[b : b + 1], heads)
        h, cn = norm_forward(one + a, weights["attention.norm.gain"], weights["attention.norm.bias"], eps)
        u = h @ weights["ffn.up.w"] + weights["ffn.up.b"]
        g, cg = gelu_forward(u)
        f = g @ weights["ffn.down.w"] + weights["ffn.down.b"]
        y, cm = norm_forward(h + f, weights["ffn.norm.gain"], weights["ffn.norm.bias"], eps)
        pairs.append((y, (ca, cn, h, cg, g, cm)))
    return np.concatenate([y for y, _ in pairs]), ([cache for _, cache in pairs], weights)


def block_backward(dy, cache):
    caches, weights = cache
    total, dx = {name: np.zeros(array.shape) for name, array in weights.items()}, []
    for b, (ca, cn, h, cg, g, cm) in enumerate(caches):
        d, dgain, dbias = norm_backward(dy[b : b + 1], cm)
        dg = d @ weights["ffn.down.w"].T
        du = gelu_backward(dg, cg)[0]
        found = {"ffn.norm.gain": dgain, "ffn.norm.bias": dbias, "ffn.down.b": d[0].sum(0)}
        found |= {"ffn.down.w": g[0].T @ d[0], "ffn.up.w": h[0].T @ du[0], "ffn.up.b": du[0].sum(0)}
        d = d + du @ weights["ffn.up.w"].T
        d, found["attention.norm.gain"], found["attention.norm.bias"] = norm_backward(d, cn)
        back = multi_head_backward(d, ca)
        found |= dict(zip(PROJECTIONS, back[1:-1], strict=True))
        for name in total:
            total[name] += found[name]
        dx.append(d + back[0])
    return np.concatenate(dx), total
