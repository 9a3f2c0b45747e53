PARTS = ("query", "key", "value")


def translate(state):
    params = {}
    for name in state:
        array, parts = state[name], name.split(".")
        parts = parts[1:] if parts[0] == "module" else parts
        key = ".".join(parts[:-1])
        if parts == ["layer", "self_attn", "in_proj_weight"]:
            q, k, v = np.moveaxis(array.reshape(3, -1, array.shape[1]), 2, 1)
            params |= {f"encoder.attention.{part}.w": a for part, a in zip(PARTS, (q, k, v), strict=True)}
        elif parts == ["layer", "self_attn", "in_proj_bias"]:
            q, k, v = array.reshape(3, -1)
            params |= {f"encoder.attention.{part}.b": a for part, a in zip(PARTS, (q, k, v), strict=True)}
        elif parts == ["mlm_bias"]:
            params["mlm.bias"] = array
        elif key in MODULES and parts[-1] in ("weight", "bias"):
            kind = "table" if key in TABLES else "norm" if "norm" in key else "linear"
            ending = {"table": "", "norm": {"weight": ".gain"}.get(parts[-1], ".bias"),
                      "linear": {"weight": ".w"}.get(parts[-1], ".b")}[kind]
            params[MODULES[key] + ending] = array.T if ending == ".w" else array
    return params


def load(directory):
    index = json.loads(Path(directory, "model.safetensors.index.json").read_text(encoding="utf-8"))["weight_map"]
    state = {}
    for file in sorted(set(index.values())):
        state |= {name: a for name, a in load_file(Path(directory) / file).items() if index.get(name) == file}
    return read_config(Path(directory, "config.json").read_text(encoding="utf-8")), translate(state)
