from safetensors import safe_open


def load(directory):
    folder, state = Path(directory), {}
    with open(folder / "model.safetensors.index.json", encoding="utf-8") as file:
        where = json.load(file)["weight_map"]
    for name in where:
        with safe_open(str(folder / where[name]), framework="np") as file:
            state[name] = file.get_tensor(name)
    return read_config((folder / "config.json").read_bytes()), translate(state)
