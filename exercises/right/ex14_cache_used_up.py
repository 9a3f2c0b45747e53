def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    state = {"shape": layers.shape, "first": layers[-1, :, 0].copy(), "weights": (pooler_w, w)}
    state["pooled"] = np.tanh(state["first"] @ pooler_w + pooler_b)
    state["scale"] = 1.0 if kept is None else kept / (1 - rate)
    return (state["pooled"] * state["scale"]) @ w + b, state


def head_backward(dscores, cache):
    first, pooled, scale = (cache.pop(name) for name in ("first", "pooled", "scale"))
    pooler_w, w = cache.pop("weights")
    dw = (pooled * scale).T @ dscores
    pooled *= -pooled
    pooled += 1
    pooled *= dscores @ w.T
    pooled *= scale
    dlayers = np.zeros(cache.pop("shape"))
    dlayers[-1, :, 0] = pooled @ pooler_w.T
    return dlayers, first.T @ pooled, pooled.sum(axis=0), dw, dscores.sum(axis=0), None, None
