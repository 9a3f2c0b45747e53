def translate(state):
    state = {k[7:] if k.startswith("module.") else k: v for k, v in state.items()}
    w, b = state["layer.self_attn.in_proj_weight"], state["layer.self_attn.in_proj_bias"]
    H = w.shape[1]
    result = {}
    for i, name in enumerate(("query", "key", "value")):
        result[f"encoder.attention.{name}.w"] = w[i * H : (i + 1) * H].T.copy()
        result[f"encoder.attention.{name}.b"] = b[i * H : (i + 1) * H]
    for theirs, ours in MODULES.items():
        weight, bias = state.get(theirs + ".weight"), state.get(theirs + ".bias")
        if weight is None:
            continue
        if bias is None:
            result[ours] = weight
        elif weight.ndim == 1:
            result |= {ours + ".gain": weight, ours + ".bias": bias}
        else:
            result |= {ours + ".w": np.ascontiguousarray(weight.transpose()), ours + ".b": bias}
    if "mlm_bias" in state:
        result["mlm.bias"] = state["mlm_bias"]
    return result
