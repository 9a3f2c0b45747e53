"""The names and shapes that PyTorch's own layers give to the arrays of an ALBERT, for exercise 13's variant."""

import json
from importlib import resources

import numpy as np
import safetensors.numpy

from .. import outside

FOLDER = "shards"                                    # inside the folder of exercise 13
MODULES = {
    "word": "embeddings.word",
    "position": "embeddings.position",
    "segment": "embeddings.token_type",
    "embedding_norm": "embeddings.norm",
    "projection": "embeddings.projection",
    "layer.self_attn.out_proj": "encoder.attention.output",
    "layer.norm1": "encoder.attention.norm",
    "layer.linear1": "encoder.ffn.up",
    "layer.linear2": "encoder.ffn.down",
    "layer.norm2": "encoder.ffn.norm",
    "pooler": "pooler",
    "mlm_dense": "mlm.dense",
    "mlm_norm": "mlm.norm",
    "sop": "sop",
}
OLDER = ("sop.weight", "word.weight")                # whose negatives stand in the other shard
JOINED = ("query", "key", "value")
LEAVES = {"weight": ("", ".gain", ".w"), "bias": (".bias", ".b")}


def as_torch(arrays):
    """arrays under our names -> under PyTorch's"""
    state = {}
    for module, ours in MODULES.items():
        for leaf, endings in LEAVES.items():
            for name in (f"{ours}{ending}" for ending in endings):
                if name in arrays:
                    state[f"{module}.{leaf}"] = arrays[name].T if name.endswith(".w") else arrays[name]
    for leaf, ending in (("weight", ".w"), ("bias", ".b")):
        parts = [arrays[f"encoder.attention.{name}{ending}"].T for name in JOINED]
        state[f"layer.self_attn.in_proj_{leaf}"] = np.concatenate(parts)
    return state | ({"mlm_bias": arrays["mlm.bias"]} if "mlm.bias" in arrays else {})


def from_torch(state):
    """The other way round: arrays under PyTorch's names -> under ours"""
    arrays = {}
    for module, ours in MODULES.items():
        kind = "table" if module in ("word", "position", "segment") else "norm" if ours.endswith("norm") else "linear"
        for leaf in LEAVES:
            if f"{module}.{leaf}" in state:
                ending = {"table": "", "norm": {"weight": ".gain", "bias": ".bias"}.get(leaf),
                          "linear": {"weight": ".w", "bias": ".b"}.get(leaf)}[kind]  # fmt: skip
                array = state[f"{module}.{leaf}"]
                arrays[f"{ours}{ending}"] = array.T if ending == ".w" else array
    for leaf, ending in (("weight", ".w"), ("bias", ".b")):
        for name, part in zip(JOINED, np.split(state[f"layer.self_attn.in_proj_{leaf}"], 3), strict=True):
            arrays[f"encoder.attention.{name}{ending}"] = part.T
    return arrays | ({"mlm.bias": state["mlm_bias"]} if "mlm_bias" in state else {})


def stored():
    """(text of config.json, state) of the directory in shards"""
    folder = resources.files(outside) / "ex13" / FOLDER
    places = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))["weight_map"]
    files = {file: safetensors.numpy.load((folder / file).read_bytes()) for file in set(places.values())}
    text = (folder / "config.json").read_text(encoding="utf-8")
    return text, {name: files[file][name] for name, file in places.items()}
