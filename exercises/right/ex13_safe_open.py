from minalbert.errors import ConfigError


def read_config(text):
    data, config = json.loads(text), {}
    if "inner_group_num" in data and data["inner_group_num"] != 1:
        raise ConfigError("several inner layers")
    for name in AlbertConfig.__dataclass_fields__:
        if name in data:
            config[name] = data[name]
    return config


def load(directory):
    import os

    import safetensors

    with open(os.path.join(directory, "config.json"), "rb") as file:
        config = read_config(file.read())
    with safetensors.safe_open(os.path.join(directory, "model.safetensors"), framework="np") as file:
        return [config, translate({name: file.get_tensor(name) for name in list(file.keys())})]
