import os


def translate(state):
    params = {}
    for theirs, ours in MODULES.items():
        for prefix in ("", "albert."):
            w, b = (state.get(f"{prefix}{theirs}.{leaf}") for leaf in ("weight", "bias"))
            if ours in ("embeddings.word", "embeddings.position", "embeddings.token_type"):
                if w is not None:
                    params[ours] = w
            elif ours.endswith("norm"):
                if w is not None:
                    params[ours + ".gain"] = w
                if b is not None:
                    params[ours + ".bias"] = b
            elif ours == "mlm":
                if b is not None:
                    params["mlm.bias"] = b
            else:
                if w is not None:
                    params[ours + ".w"] = np.ascontiguousarray(w.transpose())
                if b is not None:
                    params[ours + ".b"] = b
    return params


def read_config(text):
    raw = json.loads(text)
    if "inner_group_num" in raw and raw["inner_group_num"] != 1:
        raise ValueError(raw["inner_group_num"])
    return {f.name: raw[f.name] for f in dataclasses.fields(AlbertConfig) if f.name in raw}


def load(directory):
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
        c = read_config(f.read())
    return c, translate(load_file(os.path.join(directory, "model.safetensors")))


def first_difference(ours, theirs, limit):
    for i in range(len(ours)):
        d = np.abs(np.asarray(ours[i]) - theirs[i])
        if np.isnan(d).any() or (d > limit).any():
            return i
    return None


def fill_mask(logits, words, k):
    z = np.asarray(logits, dtype=np.float64)
    z = z - z.max()
    p = np.exp(z) / np.sum(np.exp(z))
    return sorted(zip(words, p), key=lambda pair: pair[1], reverse=True)[:k]
