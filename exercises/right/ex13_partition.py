from safetensors import safe_open


def translate(state):
    state = {k[7:] if k.startswith("albert.") else k: v for k, v in state.items()}
    result = {}
    for key, value in state.items():
        parts = key.split(".")
        leaf = parts.pop()
        module = ".".join(parts)
        try:
            ours = MODULES[module]
        except KeyError:
            continue
        if value.ndim == 1:
            kind = {"weight": "gain", "bias": "bias" if ours.endswith("norm") or ours == "mlm" else "b"}[leaf]
            result[ours + "." + kind] = value
        elif ours in {"embeddings.word", "embeddings.position", "embeddings.token_type"}:
            result[ours] = value
        else:
            result[ours + ".w"] = value.T.copy()
    return result


def read_config(text):
    known = AlbertConfig.__dataclass_fields__
    config = {}
    for k, v in json.loads(text).items():
        if k == "inner_group_num" and v != 1:
            raise ValueError("one inner group only")
        if k in known:
            config[k] = v
    return config


def load(directory):
    state = {}
    with safe_open(str(Path(directory, "model.safetensors")), "numpy") as f:
        for k in f.keys():  # noqa: SIM118
            state[k] = f.get_tensor(k)
    return read_config(Path(directory, "config.json").read_text(encoding="utf-8")), translate(state)


def first_difference(ours, theirs, limit):
    same = [bool((abs(a - b) <= limit).all()) for a, b in zip(ours, theirs, strict=True)]
    return same.index(False) if False in same else None


def fill_mask(logits, words, k):
    top = np.argpartition(logits, -k)[-k:]
    top = top[np.argsort(logits[top])[::-1]]
    m = logits.max()
    Z = np.exp(logits - m).sum()
    return [(words[i], np.exp(logits[i] - m) / Z) for i in top]
